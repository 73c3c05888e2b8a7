#include "data/image_batches.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

std::int64_t steps_of(const Dataset& dataset, const BatchStreamOptions& o) {
  if (o.pass == Pass::training) return kNoEnd;
  const std::int64_t batches = (dataset.size(o.split) + o.batch - 1) / o.batch;
  return (batches - o.worker + o.workers - 1) / o.workers;
}

}  // namespace

ImageBatches::ImageBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : BatchMaker(given),
      images_(dataset.split(given.split).source()),
      labels_(dataset.split(given.split).labels.as<std::int32_t>()),
      augment_(given.preprocess, dataset.image_shape),
      order_(given.seed, dataset.size(given.split)),
      steps_(steps_of(dataset, given)) {}

Shape ImageBatches::input_shape() const {
  const Shape image = augment_.output();
  return {options().batch, image[0], image[1], image[2]};
}

std::int64_t ImageBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                Scratch& scratch) const {
  const BatchStreamOptions& o = options();
  const std::int64_t size = order_.size(), first = first_position(step, o.batch, o.worker, o.workers);
  const bool training = o.pass == Pass::training;
  const std::int64_t image_floats = augment_.output().elements();
  float* place = reinterpret_cast<float*>(inputs);
  for (std::int64_t i = 0; i < o.batch; ++i, place += image_floats) {
    const std::int64_t position = first + i;
    // A short last batch is filled up from the beginning of the split.
    const std::int64_t index = training ? order_.index(position) : position % size;
    const std::uint8_t* image = images_->image(index, scratch.data());
    labels[i] = labels_[static_cast<std::size_t>(index)];
    if (training)
      augment_.train(image, image_draws(o.seed, position), place);
    else
      augment_.evaluate(image, place);
  }
  return training ? o.batch : std::min(o.batch, size - first);
}

MakeBatches batches_of(const Dataset& dataset) {
  return [&dataset](const BatchStreamOptions& options) {
    if (dataset.size(options.split) == 0)
      fail(ErrorKind::config, "data set '{}' has no {}", dataset.name,
           options.split == Split::train ? "training images" : "test images: give --no-eval");
    return std::make_shared<ImageBatches>(dataset, options);
  };
}

}  // namespace trainyard::data
