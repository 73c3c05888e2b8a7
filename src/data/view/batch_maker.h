#pragma once

#include "base/sample_order.h"
#include "data/recipe/augment.h"
#include "data/recipe/recipe.h"
#include "data/recipe/token_mask.h"
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
  // Returns the shape of a whole batch. Beside it there are i32 for each sample: its label, its length, or
  // boxes.
  virtual Shape input_shape() const = 0;
  virtual Shape label_shape() const { return {options_.batch}; }
  virtual DType input_type() const = 0;
  virtual std::int64_t steps() const = 0;

  // The workspace that a batch needs while it is made.
  using Scratch = SampleSource::Scratch;
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

// Batches of a data set, in the order of its pass: f32 (N, C, h, w) of images, i32 of tokens.
class SampleBatches : public BatchMaker {
 public:
  std::int64_t steps() const override { return steps_; }  // of an evaluation pass; a training pass has no end

 protected:
  // Error (config) for options that do not fit the data set.
  SampleBatches(const Dataset& dataset, const BatchStreamOptions& options);

  // A sample with its places: in the run's order, which decides what is random of it, in the source and in
  // the batch.
  struct Placed {
    Sample sample;
    std::int64_t position, index, in_batch;
  };
  // Writes the input of one sample into the memory of its batch.
  virtual void write(const Placed& placed, std::byte* inputs) const = 0;
  virtual void write_label(const Placed& placed, std::int32_t* labels) const {
    labels[placed.in_batch] = placed.sample.label;
  }

  bool training() const { return options().pass == Pass::training; }
  const SampleSource& source() const { return *source_; }

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;

  const std::shared_ptr<const SampleSource> source_;
  const SampleOrder order_;
  const std::int64_t steps_;
};

// Makes batches of decoded images. `dataset` must outlive it.
class ImageBatches final : public SampleBatches {
 public:
  ImageBatches(const Dataset& dataset, const BatchStreamOptions& options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(augment_.input().elements()));  // an image as its file has it
  }

 private:
  void write(const Placed& placed, std::byte* inputs) const override;

  const Augment augment_;
};

// Makes batches of JPEGs and PNGs. An image that cannot be decoded is an Error that names it. A sample that
// its source calls damaged is black.
class EncodedBatches final : public SampleBatches {
 public:
  EncodedBatches(const Dataset& dataset, const BatchStreamOptions& options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }

 private:
  void write(const Placed& placed, std::byte* inputs) const override;

  const EncodedRecipe recipe_;
};

// Batches of sequences, token by token, with the number of steps of each that count: i32 (length + 1, N)
// where the next token is asked for; where masked ones are, (2 length, N): what is read, and behind it the
// labels.
class TokenBatches final : public SampleBatches {
 public:
  TokenBatches(const Dataset& dataset, const BatchStreamOptions& options);

  Shape input_shape() const override { return {mask_ ? 2 * (tokens_ - 1) : tokens_, options().batch}; }
  DType input_type() const override { return DType::i32; }
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(tokens_) * sizeof(std::int32_t));
  }

 private:
  void write(const Placed& placed, std::byte* inputs) const override;

  const std::int64_t tokens_;  // of a sequence
  std::optional<TokenMask> mask_;
};

// Batches of images with boxes, whose labels are the boxes: i32 (N, most, kBoxNumbers). Pixels are divided by
// 255.
class BoxBatches final : public SampleBatches {
 public:
  BoxBatches(const Dataset& dataset, const BatchStreamOptions& options);

  Shape input_shape() const override { return {options().batch, image_[0], image_[1], image_[2]}; }
  DType input_type() const override { return DType::f32; }
  Shape label_shape() const override { return {options().batch, boxes_, kBoxNumbers}; }

 private:
  void write(const Placed& placed, std::byte* inputs) const override;
  void write_label(const Placed& placed, std::int32_t* labels) const override;

  const Shape image_;
  const std::int64_t boxes_;  // at most, of an image
};

// Makes the batches that the kind of the samples needs. `dataset` must outlive what it makes. Error (config)
// when the split has no samples.
MakeBatches batches_of(const Dataset& dataset);

}  // namespace trainyard::data
