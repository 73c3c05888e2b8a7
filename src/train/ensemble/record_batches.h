#pragma once

#include <memory>

#include "data/batch_maker.h"
#include "image/preprocess.h"
#include "records/record_set.h"

namespace trainyard::train::ensemble {

// Batches of all records of a set, in their order, preprocessed for evaluation. A damaged image is black and
// has the label -1.
class RecordBatches final : public data::BatchMaker {
 public:
  // REQUIRES: a pass of evaluation.
  RecordBatches(std::shared_ptr<const records::RecordSet> records,
                std::shared_ptr<const image::Preprocessor> preprocessor,
                const data::BatchStreamOptions& options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }
  std::int64_t steps() const override;
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(preprocessor_->sample_bytes()));
  }

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;

  const std::shared_ptr<const records::RecordSet> records_;
  const std::shared_ptr<const image::Preprocessor> preprocessor_;
};

}  // namespace trainyard::train::ensemble
