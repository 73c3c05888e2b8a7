#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/philox.h"
#include "base/sample_order.h"
#include "data/recipe/augment.h"
#include "data/source/dataset.h"

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
  // Called for each finished batch, with its begin and end by now_seconds(), in the thread that made it; may
  // be null.
  std::function<void(std::int64_t step, double began, double ended)> made = nullptr;
};

// Makes the batch of any step in the caller's memory. A batch depends on the options and its step alone, not
// on threads, depth or first_step. Any number of threads may use it at once.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;

  const BatchStreamOptions& options() const { return options_; }
  // Returns the shape of a whole batch. Beside it there is an i32 for each sample: its label, or its length.
  virtual Shape input_shape() const = 0;
  virtual DType input_type() const = 0;
  virtual std::int64_t steps() const = 0;

  // The workspace that a batch needs while it is made.
  using Scratch = std::vector<std::uint8_t>;
  virtual Scratch scratch() const { return {}; }
  // Returns the samples that count: fewer than the batch only at the end of an evaluation pass.
  std::int64_t make(std::int64_t step, std::byte* inputs, std::int32_t* labels, Scratch& scratch) const;

  // If true, the sources of a batch are needed until a device has used it, and the consumer of the batches
  // calls used() in the order of the steps.
  virtual bool lends() const { return false; }
  virtual void used(std::int64_t /*step*/) const {}

 protected:
  // Throws an Error (config) for options that no batch can have.
  explicit BatchMaker(const BatchStreamOptions& options);

 private:
  virtual std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                            Scratch& scratch) const = 0;

  const BatchStreamOptions options_;
};

// Makes a BatchMaker of one source for the given options.
using MakeBatches = std::function<std::shared_ptr<const BatchMaker>(const BatchStreamOptions& options)>;

// Batches of a data set's images, f32 (N, C, h, w), with their labels.
class ImageBatches final : public BatchMaker {
 public:
  // `dataset` must outlive it. Error (config) for options that do not fit it.
  ImageBatches(const Dataset& dataset, const BatchStreamOptions& options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }
  std::int64_t steps() const override { return steps_; }  // of an evaluation pass; a training pass has no end
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(augment_.input().elements()));  // an image as its file has it
  }

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;

  const std::shared_ptr<const ImageSource> images_;
  const std::span<const std::int32_t> labels_;
  const Augment augment_;
  const SampleOrder order_;
  const std::int64_t steps_;
};

// `dataset` must outlive what it makes.
MakeBatches batches_of(const Dataset& dataset);

struct TokenOptions {
  std::int64_t length = 50;  // steps of a sequence; it has one token more, which the last step is to predict
  std::int64_t vocabulary = 1024;
};

// Batches of made up sequences, without end: i32 (length + 1, N), token by token, and how many steps of each
// count.
class TokenBatches final : public BatchMaker {
 public:
  TokenBatches(const TokenOptions& tokens, const BatchStreamOptions& options);

  Shape input_shape() const override { return {tokens_.length + 1, options().batch}; }
  DType input_type() const override { return DType::i32; }
  std::int64_t steps() const override;

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* lengths,
                    Scratch& scratch) const override;

  const TokenOptions tokens_;
  const Philox random_;
};

}  // namespace trainyard::data
