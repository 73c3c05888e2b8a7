#include "data/batch_maker.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/error.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

BatchStreamOptions checked(BatchStreamOptions o) {
  if (o.batch < 1) fail(ErrorKind::config, "batch size {} given, at least 1 expected", o.batch);
  if (o.depth < 0 || o.threads < 1)
    fail(ErrorKind::config, "prefetch depth {} and {} threads given, at least 0 and 1 expected", o.depth,
         o.threads);
  if (o.workers < 1 || o.worker < 0 || o.worker >= o.workers)
    fail(ErrorKind::config, "worker {} of {} given, 0 to {} expected", o.worker, o.workers, o.workers - 1);
  TRAINYARD_CHECK(o.first_step >= 0);
  return o;
}

std::int64_t steps_of(const Dataset& dataset, const BatchStreamOptions& o) {
  if (o.pass == Pass::training) return kNoEnd;
  const std::int64_t batches = (dataset.size(o.split) + o.batch - 1) / o.batch;
  return (batches - o.worker + o.workers - 1) / o.workers;
}

}  // namespace

BatchMaker::BatchMaker(const Dataset& dataset, const BatchStreamOptions& options)
    : options_(checked(options)),
      images_(dataset.split(options.split).source()),
      labels_(dataset.split(options.split).labels.as<std::int32_t>()),
      augment_(options.preprocess, dataset.image_shape),
      order_(options.seed, dataset.size(options.split)),
      steps_(steps_of(dataset, options)) {}

std::int64_t BatchMaker::make(std::int64_t step, float* images, std::int32_t* labels,
                              Scratch& scratch) const {
  if (options_.made == nullptr) return fill(step, images, labels, scratch);
  const double began = now_seconds();
  const std::int64_t valid = fill(step, images, labels, scratch);
  options_.made(step, began, now_seconds());
  return valid;
}

std::int64_t BatchMaker::fill(std::int64_t step, float* images, std::int32_t* labels,
                              Scratch& scratch) const {
  const std::int64_t size = order_.size(),
                     first = first_position(step, options_.batch, options_.worker, options_.workers);
  const bool training = options_.pass == Pass::training;
  const std::int64_t image_floats = augment_.output().elements();
  for (std::int64_t i = 0; i < options_.batch; ++i, images += image_floats) {
    const std::int64_t position = first + i;
    // A short last batch is filled up from the beginning of the split.
    const std::int64_t index = training ? order_.index(position) : position % size;
    const std::uint8_t* image = images_->image(index, scratch.data());
    labels[i] = labels_[static_cast<std::size_t>(index)];
    if (training)
      augment_.train(image, image_draws(options_.seed, position), images);
    else
      augment_.evaluate(image, images);
  }
  return training ? options_.batch : std::min(options_.batch, size - first);
}

}  // namespace trainyard::data
