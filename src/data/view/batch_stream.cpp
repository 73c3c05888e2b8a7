#include "data/view/batch_stream.h"

namespace trainyard::data {

PrefetchRing::PrefetchRing(std::int64_t depth, int threads, std::int64_t first_step, std::int64_t end_step,
                           Fill fill, std::int64_t held)
    : held_(held),
      slots_(depth + held),
      end_step_(end_step),
      fill_(std::move(fill)),
      next_step_(first_step),
      claim_(first_step),
      released_(first_step),
      ready_(static_cast<std::size_t>(depth + held), -1) {
  TRAINYARD_CHECK(depth >= 0 && threads >= 1 && first_step >= 0 && held >= 1);
  if (depth == 0) return;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(threads, depth); ++i)
    threads_.emplace_back(&PrefetchRing::work, this);
}

PrefetchRing::~PrefetchRing() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  slot_freed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::int64_t PrefetchRing::take() {
  TRAINYARD_CHECK(next_step_ < end_step_);
  const std::int64_t step = next_step_, slot = slot_of(step);
  if (threads_.empty()) {
    fill_(slot, step);
  } else {
    MutexLock lock(mutex_);
    if (released_ < step - held_ + 1) {
      released_ = step - held_ + 1;
      slot_freed_.notify_one();
    }
    while (ready_[static_cast<std::size_t>(slot)] != step && error_ == nullptr) slot_filled_.wait(lock);
    // A step that was filled before another one failed is still good.
    if (ready_[static_cast<std::size_t>(slot)] != step) std::rethrow_exception(error_);
  }
  ++next_step_;
  return slot;
}

bool PrefetchRing::ready() {
  if (threads_.empty()) return false;
  const MutexLock lock(mutex_);
  return next_step_ < end_step_ && ready_[static_cast<std::size_t>(slot_of(next_step_))] == next_step_;
}

void PrefetchRing::work() {
  MutexLock lock(mutex_);
  while (true) {
    // Steps released_ .. released_ + slots_ - 1 have slots of their own; released_ itself may be in use.
    while (!stopping_ && claim_ < end_step_ && claim_ >= released_ + slots_) slot_freed_.wait(lock);
    if (stopping_ || error_ != nullptr || claim_ >= end_step_) return;
    const std::int64_t step = claim_++;
    // One free slot wakes one thread, which wakes the next one when there are more.
    if (claim_ < released_ + slots_ || claim_ >= end_step_) slot_freed_.notify_one();
    lock.unlock();
    std::exception_ptr error;
    try {
      fill_(slot_of(step), step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error == nullptr)
      ready_[static_cast<std::size_t>(slot_of(step))] = step;
    else if (error_ == nullptr)
      error_ = error;
    slot_filled_.notify_one();
  }
}

std::vector<BatchStream::Slot> BatchStream::make_slots(const BatchMaker& maker) {
  std::vector<Slot> slots(static_cast<std::size_t>(maker.options().depth + 1));
  for (Slot& slot : slots) {
    slot.batch.images = HostTensor(maker.input_shape(), maker.input_type());
    slot.batch.labels = HostTensor(maker.label_shape(), DType::i32);
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
    : BatchStream(batches_of(dataset)(options)) {}

const Batch& BatchStream::next() { return slots_[static_cast<std::size_t>(ring_.take())].batch; }

void BatchStream::fill(Slot& slot, std::int64_t step) const {
  Batch& batch = slot.batch;
  batch.step = step;
  batch.valid = maker_->make(step, batch.images.data(), batch.labels.as<std::int32_t>().data(), slot.scratch);
}

}  // namespace trainyard::data
