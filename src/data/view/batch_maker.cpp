#include "data/view/batch_maker.h"

#include "base/clock.h"

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

SampleBatches::SampleBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : BatchMaker(given),
      source_(dataset.split(given.split).source()),
      order_(given.seed, source_->size()),
      steps_(steps_of(dataset, given)) {}

std::int64_t SampleBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                 Scratch& scratch) const {
  const BatchStreamOptions& o = options();
  const std::int64_t size = order_.size(), first = first_position(step, o.batch, o.worker, o.workers);
  for (std::int64_t i = 0; i < o.batch; ++i) {
    const std::int64_t position = first + i;
    // A short last batch is filled up from the beginning of the split.
    const std::int64_t index = training() ? order_.index(position) : position % size;
    const Sample sample = source_->read(index, scratch);
    const Placed placed{sample, position, index, i};
    write_label(placed, labels);
    write(placed, inputs);
  }
  return training() ? o.batch : std::min(o.batch, size - first);
}

ImageBatches::ImageBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : SampleBatches(dataset, given), augment_(given.preprocess, dataset.image_shape) {}

Shape ImageBatches::input_shape() const {
  const Shape& image = augment_.output();
  return {options().batch, image[0], image[1], image[2]};
}

void ImageBatches::write(const Placed& placed, std::byte* inputs) const {
  float* out = reinterpret_cast<float*>(inputs) + placed.in_batch * augment_.output().elements();
  const auto* image = reinterpret_cast<const std::uint8_t*>(placed.sample.bytes.data());
  if (training())
    augment_.train(image, image_draws(options().seed, placed.position), out);
  else
    augment_.evaluate(image, out);
}

EncodedBatches::EncodedBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : SampleBatches(dataset, given), recipe_(given.preprocess) {}

Shape EncodedBatches::input_shape() const {
  const Shape& image = recipe_.output();
  return {options().batch, image[0], image[1], image[2]};
}

void EncodedBatches::write(const Placed& placed, std::byte* inputs) const {
  const std::int64_t floats = recipe_.output().elements();
  float* out = reinterpret_cast<float*>(inputs) + placed.in_batch * floats;
  if (placed.sample.label < 0) {
    std::fill_n(out, floats, 0.0f);
    return;
  }
  try {
    if (training())
      recipe_.train(placed.sample.bytes, options().seed, placed.position, out);
    else
      recipe_.evaluate(placed.sample.bytes, out);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", source().where(placed.index), error.what());
  }
}

TokenBatches::TokenBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : SampleBatches(dataset, given), tokens_([this] {
        Scratch scratch;
        return static_cast<std::int64_t>(source().read(0, scratch).bytes.size() / sizeof(std::int32_t));
      }()) {
  if (given.preprocess.name == "masked-token") mask_.emplace(dataset.classes);
}

void TokenBatches::write(const Placed& placed, std::byte* inputs) const {
  const auto* from = reinterpret_cast<const std::int32_t*>(placed.sample.bytes.data());
  auto* out = reinterpret_cast<std::int32_t*>(inputs) + placed.in_batch;
  const std::int64_t stride = options().batch, length = tokens_ - 1;
  if (mask_) {
    // Runs of any seed are evaluated on the same questions.
    const TokenMask::Draws draws =
        training() ? TokenMask::Draws{options().seed, placed.position} : TokenMask::Draws{0, placed.index};
    mask_->apply({from, static_cast<std::size_t>(length)}, placed.sample.label, draws, stride, out,
                 out + length * stride);
    return;
  }
  for (std::int64_t t = 0; t < tokens_; ++t) out[t * stride] = from[t];
}

BoxBatches::BoxBatches(const Dataset& dataset, const BatchStreamOptions& given)
    : SampleBatches(dataset, given), image_(dataset.image_shape), boxes_([this] {
        Scratch scratch;
        const std::size_t bytes = source().read(0, scratch).bytes.size();
        return (static_cast<std::int64_t>(bytes) - image_.elements()) /
               static_cast<std::int64_t>(kBoxNumbers * sizeof(std::int32_t));
      }()) {}

void BoxBatches::write(const Placed& placed, std::byte* inputs) const {
  const std::int64_t elements = image_.elements();
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(placed.sample.bytes.data()) +
                       placed.sample.bytes.size() - static_cast<std::size_t>(elements);
  map_pixels(pixels, elements, 0, 1.0f / 255, reinterpret_cast<float*>(inputs) + placed.in_batch * elements);
}

void BoxBatches::write_label(const Placed& placed, std::int32_t* labels) const {
  const std::int64_t numbers = boxes_ * kBoxNumbers;
  std::memcpy(labels + placed.in_batch * numbers, placed.sample.bytes.data(),
              static_cast<std::size_t>(numbers) * sizeof(std::int32_t));
}

MakeBatches batches_of(const Dataset& dataset) {
  return [&dataset](const BatchStreamOptions& options) -> std::shared_ptr<const BatchMaker> {
    if (dataset.size(options.split) == 0)
      fail(ErrorKind::config, "data set '{}' has no {}", dataset.name,
           options.split == Split::train ? "training images"
                                         : fmt::format("test images: give {}", Setting{"no_eval"}));
    switch (dataset.kind) {
      case SampleKind::pixels:
        return std::make_shared<ImageBatches>(dataset, options);
      case SampleKind::encoded:
        return std::make_shared<EncodedBatches>(dataset, options);
      case SampleKind::tokens:
        return std::make_shared<TokenBatches>(dataset, options);
      case SampleKind::boxes:
        return std::make_shared<BoxBatches>(dataset, options);
    }
    fail(ErrorKind::internal, "data set '{}' has samples of no kind", dataset.name);
  };
}

}  // namespace trainyard::data
