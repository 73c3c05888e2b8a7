#include "data/batch_stream.h"

#include <algorithm>
#include <limits>

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

std::vector<BatchStream::Slot> BatchStream::make_slots(const BatchStreamOptions& o, const Augment& augment) {
  const Shape& image = augment.output();
  std::vector<Slot> slots(static_cast<std::size_t>(o.depth + 1));
  for (Slot& slot : slots) {
    slot.batch.images = HostTensor({o.batch, image[0], image[1], image[2]}, DType::f32);
    slot.batch.labels = HostTensor({o.batch}, DType::i32);
    slot.scratch.resize(static_cast<std::size_t>(augment.input().elements()));
  }
  return slots;
}

BatchStream::BatchStream(const Dataset& dataset, const BatchStreamOptions& options)
    : options_(checked(options)),
      images_(dataset.split(options.split).source()),
      labels_(dataset.split(options.split).labels.as<std::int32_t>()),
      augment_(options.preprocess, dataset.image_shape),
      order_(options.seed, dataset.size(options.split)),
      steps_(steps_of(dataset, options)),
      slots_(make_slots(options_, augment_)),
      ring_(options.depth, options.threads, options.first_step, steps_,
            [this](std::int64_t slot, std::int64_t step) {
              fill(slots_[static_cast<std::size_t>(slot)], step);
            }) {}

const Batch& BatchStream::next() { return slots_[static_cast<std::size_t>(ring_.take())].batch; }

void BatchStream::fill(Slot& slot, std::int64_t step) const {
  Batch& batch = slot.batch;
  const std::int64_t size = order_.size(),
                     first = first_position(step, options_.batch, options_.worker, options_.workers);
  const bool training = options_.pass == Pass::training;
  const std::int64_t image_floats = augment_.output().elements();
  batch.step = step;
  batch.valid = training ? options_.batch : std::min(options_.batch, size - first);
  float* out = batch.images.as<float>().data();
  for (std::int64_t i = 0; i < options_.batch; ++i, out += image_floats) {
    const std::int64_t position = first + i;
    // A short last batch is filled up from the beginning of the split.
    const std::int64_t index = training ? order_.index(position) : position % size;
    const std::uint8_t* image = images_->image(index, slot.scratch.data());
    batch.labels.as<std::int32_t>()[static_cast<std::size_t>(i)] = labels_[static_cast<std::size_t>(index)];
    if (training)
      augment_.train(image, image_draws(options_.seed, position), out);
    else
      augment_.evaluate(image, out);
  }
}

}  // namespace trainyard::data
