#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sample_order.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/prefetch_ring.h"
#include "tensor/host_tensor.h"

namespace trainyard::data {

struct Batch {
  std::int64_t step = 0;
  std::int64_t valid = 0;     // images that count: fewer than the batch only at the end of an evaluation pass
  HostTensor images, labels;  // f32 (N, C, h, w); i32 (N)
};

// training: shuffled, augmented, without end. evaluation: in order, once, nothing random.
enum class Pass { training, evaluation };

struct BatchStreamOptions {
  Pass pass = Pass::training;
  Split split = Split::train;
  Preprocess preprocess;
  std::int64_t batch = 128;
  std::uint64_t seed = 1;
  std::int64_t first_step = 0;  // where a resumed run goes on
  std::int64_t depth = 4;       // batches made ahead; 0: next() makes them in the caller
  int threads = 1;
  // Data parallel runs: this worker's share is every `workers`-th batch of one common order.
  std::int64_t worker = 0, workers = 1;
};

// Batches in the order of their steps. A batch depends on the options and its step alone, not on threads,
// depth or first_step. All memory is allocated by the constructor. Used by one thread.
class BatchStream {
 public:
  // `dataset` must outlive the stream. Error (config) for options that do not fit it.
  BatchStream(const Dataset& dataset, const BatchStreamOptions& options);

  // Blocks until the next step's batch is ready. Valid until the next call, which gives it back.
  const Batch& next();

  Shape image_shape() const { return augment_.output(); }  // C, h, w
  std::int64_t next_step() const { return ring_.next_step(); }
  std::int64_t steps() const { return steps_; }  // of an evaluation pass; a training pass has no end
  double wait_seconds() const { return ring_.wait_seconds(); }

 private:
  // A batch, and room for one image of bytes while it is made.
  struct Slot {
    Batch batch;
    std::vector<std::uint8_t> scratch;
  };

  static std::vector<Slot> make_slots(const BatchStreamOptions& options, const Augment& augment);
  void fill(Slot& slot, std::int64_t step) const;

  const BatchStreamOptions options_;
  const std::shared_ptr<const ImageSource> images_;
  const std::span<const std::int32_t> labels_;
  const Augment augment_;
  const SampleOrder order_;
  const std::int64_t steps_;
  std::vector<Slot> slots_;
  PrefetchRing ring_;  // last: its threads use all of the above
};

}  // namespace trainyard::data
