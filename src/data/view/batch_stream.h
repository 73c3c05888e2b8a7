#pragma once

#include <exception>
#include <thread>

#include "base/mutex.h"
#include "data/view/batch_maker.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// Threads fill numbered slots ahead of one consumer, in a ring of fixed size. The ring knows nothing about
// the content of a slot: fill(slot, step) writes slot `slot` for that step, and steps are consumed in order.
// With depth 0 there are no threads, and take() fills in the caller. No wait spins.
class PrefetchRing {
 public:
  using Fill = std::function<void(std::int64_t slot, std::int64_t step)>;  // runs in several threads at once

  // depth + held slots: the consumer holds the latest `held` it took while `depth` are made ready.
  // Steps run from first_step to end_step - 1.
  PrefetchRing(std::int64_t depth, int threads, std::int64_t first_step, std::int64_t end_step, Fill fill,
               std::int64_t held = 1);
  ~PrefetchRing();  // waits only for fills that have begun
  PrefetchRing(const PrefetchRing&) = delete;
  PrefetchRing& operator=(const PrefetchRing&) = delete;

  // Gives the slot of the take() `held` calls ago back and returns the slot of the next step, once it is
  // filled. Rethrows the exception of a fill. REQUIRES: steps are left; called from one thread.
  std::int64_t take() TRAINYARD_EXCLUDES(mutex_);
  bool ready() TRAINYARD_EXCLUDES(mutex_);  // take() would not wait

  std::int64_t next_step() const { return next_step_; }

 private:
  void work() TRAINYARD_EXCLUDES(mutex_);
  std::int64_t slot_of(std::int64_t step) const { return step % slots_; }

  const std::int64_t held_, slots_, end_step_;
  const Fill fill_;
  std::int64_t next_step_;  // the consumer's

  Mutex mutex_;
  ConditionVariable slot_freed_, slot_filled_;
  std::int64_t claim_ TRAINYARD_GUARDED_BY(mutex_);     // the step that the next free thread will fill
  std::int64_t released_ TRAINYARD_GUARDED_BY(mutex_);  // steps below this have been given back
  std::vector<std::int64_t> ready_ TRAINYARD_GUARDED_BY(mutex_);  // per slot: the step it holds, -1 for none
  std::exception_ptr error_ TRAINYARD_GUARDED_BY(mutex_);
  bool stopping_ TRAINYARD_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

struct Batch {
  std::int64_t step = 0;
  std::int64_t valid = 0;     // images that count: fewer than the batch only at the end of an evaluation pass
  HostTensor images, labels;  // as the maker says: f32 (N, C, h, w) or tokens; i32
};

// Batches in the order of their steps, made ahead by threads. All memory is allocated by the constructor.
// Used by one thread.
class BatchStream {
 public:
  explicit BatchStream(std::shared_ptr<const BatchMaker> maker);
  // Streams the samples of a data set, as batches_of() makes them.
  BatchStream(const Dataset& dataset, const BatchStreamOptions& options);

  // Blocks until the next step's batch is ready. Valid until the next call, which gives it back.
  const Batch& next();

  std::int64_t next_step() const { return ring_.next_step(); }
  std::int64_t steps() const { return maker_->steps(); }

 private:
  struct Slot {
    Batch batch;
    BatchMaker::Scratch scratch;
  };

  static std::vector<Slot> make_slots(const BatchMaker& maker);
  void fill(Slot& slot, std::int64_t step) const;

  const std::shared_ptr<const BatchMaker> maker_;
  std::vector<Slot> slots_;
  PrefetchRing ring_;  // last: its threads use all of the above
};

}  // namespace trainyard::data
