#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/sample_order.h"
#include "data/augment.h"
#include "data/dataset.h"

namespace trainyard::data {

// training: shuffled, augmented, without end. evaluation: in order, once, nothing random.
enum class Pass { training, evaluation };

struct BatchStreamOptions {
  Pass pass = Pass::training;
  Split split = Split::train;
  Preprocess preprocess;
  std::int64_t batch = 128;
  std::uint64_t seed = 1;
  std::int64_t first_step = 0;  // where a resumed run goes on
  std::int64_t depth = 4;       // batches made ahead; 0: by whoever asks for them
  int threads = 1;
  // Data parallel runs: this worker's share is every `workers`-th batch of one common order.
  std::int64_t worker = 0, workers = 1;
  // Is told of each batch that was made, by now_seconds(), in the thread that made it; null: nobody is.
  std::function<void(std::int64_t step, double began, double ended)> made = nullptr;
};

// Makes the batch of any step in memory of the caller's. A batch depends on the options and its step alone,
// not on threads, depth or first_step. Used by any number of threads at once.
class BatchMaker {
 public:
  // `dataset` must outlive it. Error (config) for options that do not fit it.
  BatchMaker(const Dataset& dataset, const BatchStreamOptions& options);

  const BatchStreamOptions& options() const { return options_; }
  Shape image_shape() const { return augment_.output(); }  // C, h, w
  std::int64_t steps() const { return steps_; }  // of an evaluation pass; a training pass has no end

  // Room for one image of bytes while a batch is made.
  using Scratch = std::vector<std::uint8_t>;
  Scratch scratch() const { return Scratch(static_cast<std::size_t>(augment_.input().elements())); }
  // f32 (batch, C, h, w) and i32 (batch). Returns the images that count: fewer than the batch only at the end
  // of an evaluation pass.
  std::int64_t make(std::int64_t step, float* images, std::int32_t* labels, Scratch& scratch) const;

 private:
  std::int64_t fill(std::int64_t step, float* images, std::int32_t* labels, Scratch& scratch) const;

  const BatchStreamOptions options_;
  const std::shared_ptr<const ImageSource> images_;
  const std::span<const std::int32_t> labels_;
  const Augment augment_;
  const SampleOrder order_;
  const std::int64_t steps_;
};

}  // namespace trainyard::data
