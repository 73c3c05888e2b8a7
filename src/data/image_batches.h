#pragma once

#include <memory>
#include <span>

#include "base/sample_order.h"
#include "data/batch_maker.h"

namespace trainyard::data {

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

}  // namespace trainyard::data
