#include "data/batch_stream.h"

namespace trainyard::data {

std::vector<BatchStream::Slot> BatchStream::make_slots(const BatchMaker& maker) {
  const std::int64_t batch = maker.options().batch;
  const Shape image = maker.image_shape();
  std::vector<Slot> slots(static_cast<std::size_t>(maker.options().depth + 1));
  for (Slot& slot : slots) {
    slot.batch.images = HostTensor({batch, image[0], image[1], image[2]}, DType::f32);
    slot.batch.labels = HostTensor({batch}, DType::i32);
    slot.scratch = maker.scratch();
  }
  return slots;
}

BatchStream::BatchStream(const Dataset& dataset, const BatchStreamOptions& options)
    : maker_(dataset, options),
      slots_(make_slots(maker_)),
      ring_(options.depth, options.threads, options.first_step, maker_.steps(),
            [this](std::int64_t slot, std::int64_t step) {
              fill(slots_[static_cast<std::size_t>(slot)], step);
            }) {}

const Batch& BatchStream::next() { return slots_[static_cast<std::size_t>(ring_.take())].batch; }

void BatchStream::fill(Slot& slot, std::int64_t step) const {
  Batch& batch = slot.batch;
  batch.step = step;
  batch.valid = maker_.make(step, batch.images.as<float>().data(), batch.labels.as<std::int32_t>().data(),
                            slot.scratch);
}

}  // namespace trainyard::data
