#include "data/batch_stream.h"

#include <utility>

#include "data/image_batches.h"

namespace trainyard::data {

std::vector<BatchStream::Slot> BatchStream::make_slots(const BatchMaker& maker) {
  std::vector<Slot> slots(static_cast<std::size_t>(maker.options().depth + 1));
  for (Slot& slot : slots) {
    slot.batch.images = HostTensor(maker.input_shape(), maker.input_type());
    slot.batch.labels = HostTensor({maker.options().batch}, DType::i32);
    slot.scratch = maker.scratch();
  }
  return slots;
}

BatchStream::BatchStream(std::shared_ptr<const BatchMaker> maker)
    : maker_(std::move(maker)),
      slots_(make_slots(*maker_)),
      ring_(maker_->options().depth, maker_->options().threads, maker_->options().first_step, maker_->steps(),
            [this](std::int64_t slot, std::int64_t step) {
              fill(slots_[static_cast<std::size_t>(slot)], step);
            }) {}

BatchStream::BatchStream(const Dataset& dataset, const BatchStreamOptions& options)
    : BatchStream(std::make_shared<ImageBatches>(dataset, options)) {}

const Batch& BatchStream::next() { return slots_[static_cast<std::size_t>(ring_.take())].batch; }

void BatchStream::fill(Slot& slot, std::int64_t step) const {
  Batch& batch = slot.batch;
  batch.step = step;
  batch.valid = maker_->make(step, batch.images.data(), batch.labels.as<std::int32_t>().data(), slot.scratch);
}

}  // namespace trainyard::data
