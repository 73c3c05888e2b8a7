#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::data {

// Threads that fill numbered slots ahead of one consumer, in a ring of fixed size. Knows nothing of what a
// slot holds: fill(slot, step) writes slot `slot` for that step, and steps are consumed in order.
// With depth 0 there are no threads, and take() fills in the caller. No waiting spins.
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
  // filled. Rethrows what a fill threw. REQUIRES: steps are left; called from one thread.
  std::int64_t take();
  bool ready();  // take() would not wait

  std::int64_t next_step() const { return next_step_; }

 private:
  void work();
  std::int64_t slot_of(std::int64_t step) const { return step % slots_; }

  const std::int64_t held_, slots_, end_step_;
  const Fill fill_;
  std::int64_t next_step_;  // the consumer's

  std::mutex mutex_;  // guards what follows
  std::condition_variable slot_freed_, slot_filled_;
  std::int64_t claim_;               // the step that the next free thread will fill
  std::int64_t released_;            // steps below this have been given back
  std::vector<std::int64_t> ready_;  // per slot: the step it holds, -1 for none
  std::exception_ptr error_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trainyard::data
