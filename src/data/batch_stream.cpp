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

std::vector<Batch> make_slots(const BatchStreamOptions& o, const Shape& image) {
  std::vector<Batch> slots(static_cast<std::size_t>(o.depth + 1));
  for (Batch& slot : slots) {
    slot.images = HostTensor({o.batch, image[0], image[1], image[2]}, DType::f32);
    slot.labels = HostTensor({o.batch}, DType::i32);
  }
  return slots;
}

}  // namespace

BatchStream::BatchStream(const Dataset& dataset, const BatchStreamOptions& options)
    : dataset_(dataset),
      options_(checked(options)),
      augment_(options.preprocess, dataset.image_shape),
      order_(options.seed, dataset.size(options.split)),
      steps_(steps_of(dataset, options)),
      slots_(make_slots(options_, augment_.output())),
      ring_(options.depth, options.threads, options.first_step, steps_,
            [this](std::int64_t slot, std::int64_t step) {
              fill(slots_[static_cast<std::size_t>(slot)], step);
            }) {}

const Batch& BatchStream::next() { return slots_[static_cast<std::size_t>(ring_.take())]; }

void BatchStream::fill(Batch& batch, std::int64_t step) const {
  const std::int64_t size = order_.size(),
                     first = (step * options_.workers + options_.worker) * options_.batch;
  const bool training = options_.pass == Pass::training;
  const std::uint8_t* images = dataset_.images(options_.split).as<std::uint8_t>().data();
  const std::int32_t* labels = dataset_.labels(options_.split).as<std::int32_t>().data();
  const std::int64_t image_bytes = augment_.input().elements(), image_floats = augment_.output().elements();
  batch.step = step;
  batch.valid = training ? options_.batch : std::min(options_.batch, size - first);
  float* out = batch.images.as<float>().data();
  for (std::int64_t i = 0; i < options_.batch; ++i, out += image_floats) {
    const std::int64_t position = first + i;
    // A short last batch is filled up from the beginning of the split.
    const std::int64_t index = training ? order_.index(position) : position % size;
    const std::uint8_t* image = images + index * image_bytes;
    batch.labels.as<std::int32_t>()[static_cast<std::size_t>(i)] = labels[index];
    if (training)
      augment_.train(image, Augment::draws(options_.seed, position), out);
    else
      augment_.evaluate(image, out);
  }
}

}  // namespace trainyard::data
