#include "data/view/batch_maker.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/sample_order.h"

namespace trainyard::data {

namespace {

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

}  // namespace

BatchMaker::BatchMaker(const BatchStreamOptions& options) : options_(checked(options)) {}

std::int64_t BatchMaker::make(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                              Scratch& scratch) const {
  if (options_.made == nullptr) return fill(step, inputs, labels, scratch);
  const double began = now_seconds();
  const std::int64_t valid = fill(step, inputs, labels, scratch);
  options_.made(step, began, now_seconds());
  return valid;
}

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
           options.split == Split::train ? "training images"
                                         : fmt::format("test images: give {}", Setting{"no_eval"}));
    return std::make_shared<ImageBatches>(dataset, options);
  };
}

namespace {

// Returns 0 to below `count`, all equally likely except for 1 in 2^32.
std::int32_t below(std::int64_t count, std::uint32_t word) {
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(count) * word) >> 32);
}

}  // namespace

TokenBatches::TokenBatches(const TokenOptions& tokens, const BatchStreamOptions& given)
    : BatchMaker(given), tokens_(tokens), random_(given.seed, stream_of("tokens")) {
  TRAINYARD_CHECK(tokens.length > 0 && tokens.vocabulary > 0 &&
                  tokens.vocabulary <= std::numeric_limits<std::int32_t>::max());
}

std::int64_t TokenBatches::steps() const { return std::numeric_limits<std::int64_t>::max(); }

std::int64_t TokenBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* lengths, Scratch&) const {
  const BatchStreamOptions& o = options();
  auto* tokens = reinterpret_cast<std::int32_t*>(inputs);
  const std::int64_t first = first_position(step, o.batch, o.worker, o.workers);
  for (std::int64_t i = 0; i < o.batch; ++i) {
    // A sample's words follow each other: its length, then its tokens.
    const auto words = static_cast<std::uint64_t>(first + i) * static_cast<std::uint64_t>(tokens_.length + 2);
    lengths[i] = 1 + below(tokens_.length, random_.word(words));
    for (std::int64_t t = 0; t <= tokens_.length; ++t)
      tokens[t * o.batch + i] =
          below(tokens_.vocabulary, random_.word(words + 1 + static_cast<std::uint64_t>(t)));
  }
  return o.batch;
}

}  // namespace trainyard::data
