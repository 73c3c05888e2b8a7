#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch_maker.h"
#include "data/prefetch_ring.h"
#include "tensor/host_tensor.h"

namespace trainyard::data {

struct Batch {
  std::int64_t step = 0;
  std::int64_t valid = 0;     // images that count: fewer than the batch only at the end of an evaluation pass
  HostTensor images, labels;  // as the maker says: f32 (N, C, h, w) or tokens; i32 (N)
};

// Batches in the order of their steps, made ahead by threads. All memory is allocated by the constructor.
// Used by one thread.
class BatchStream {
 public:
  explicit BatchStream(std::shared_ptr<const BatchMaker> maker);
  // Of images, as ImageBatches makes them.
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
