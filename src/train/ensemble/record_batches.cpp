#include "train/ensemble/record_batches.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::train::ensemble {

RecordBatches::RecordBatches(std::shared_ptr<const records::RecordSet> records,
                             std::shared_ptr<const image::Preprocessor> preprocessor,
                             const data::BatchStreamOptions& options)
    : BatchMaker(options), records_(std::move(records)), preprocessor_(std::move(preprocessor)) {
  TRAINYARD_CHECK(options.pass == data::Pass::evaluation);
}

Shape RecordBatches::input_shape() const {
  const Shape& image = preprocessor_->options().output;
  return {options().batch, image[0], image[1], image[2]};
}

std::int64_t RecordBatches::steps() const {
  return (records_->size() + options().batch - 1) / options().batch;
}

std::int64_t RecordBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                 Scratch& scratch) const {
  const std::int64_t batch = options().batch, first = step * batch,
                     valid = std::min(batch, records_->size() - first),
                     image_floats = preprocessor_->options().output.elements();
  float* place = reinterpret_cast<float*>(inputs);
  for (std::int64_t i = 0; i < batch; ++i, place += image_floats) {
    // A short last batch is filled up with its last image.
    try {
      const records::Record record = records_->read(first + std::min(i, valid - 1));
      preprocessor_->evaluate(record.encoded, scratch.data());
      labels[i] = record.label;
    } catch (const Error&) {
      std::fill(scratch.begin(), scratch.end(), std::uint8_t{0});
      labels[i] = -1;
    }
    preprocessor_->normalise(scratch.data(), place);
  }
  return valid;
}

}  // namespace trainyard::train::ensemble
