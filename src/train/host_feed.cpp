#include "train/host_feed.h"

#include "base/error.h"

namespace trainyard::train {
namespace {

// Those made ahead, and those that may still be copied from.
std::size_t slots_of(const backend::InputRing& ring, const data::BatchStreamOptions& options) {
  return static_cast<std::size_t>(options.depth + ring.places);
}

std::unique_ptr<backend::CopyQueue> copy_queue(backend::Device& device, int places, std::size_t host_bytes) {
  auto queue = device.make_copy_queue(places, host_bytes);
  TRAINYARD_CHECK(queue != nullptr);
  return queue;
}

}  // namespace

HostFeed::HostFeed(std::shared_ptr<backend::Device> device, const backend::InputRing& ring,
                   const Memory& memory, std::shared_ptr<const data::BatchMaker> maker)
    : device_(std::move(device)),
      ring_(ring),
      memory_(memory),
      maker_(std::move(maker)),
      sent_(maker_->options().first_step),
      scratch_(slots_of(ring, maker_->options()), maker_->scratch()),
      queue_(copy_queue(*device_, ring.places, scratch_.size() * ring.place_bytes())),
      made_(
          maker_->options().depth, maker_->options().threads, sent_, maker_->steps(),
          [this](std::int64_t slot, std::int64_t step) { make(slot, step); }, ring.places) {
  // What the device still does with fresh memory comes before the first copy into it.
  for (int place = 0; place < ring_.places; ++place) queue_->give_back(place);
}

void HostFeed::make(std::int64_t slot, std::int64_t step) {
  std::byte* memory = this->slot(slot);
  maker_->make(step, memory, reinterpret_cast<std::int32_t*>(memory + ring_.labels_at()),
               scratch_[static_cast<std::size_t>(slot)]);
}

void HostFeed::before(std::int64_t step) {
  while (sent_ <= step || (sent_ < step + ring_.places && may_send())) send_next();
  queue_->take(ring_.place_of(step));
}

bool HostFeed::may_send() {
  return made_.ready() && (!maker_->lends() || queue_->is_used(ring_.place_of(sent_)));
}

void HostFeed::send_next() {
  const int place = ring_.place_of(sent_);
  queue_->settle(place);  // take() gives back what the copy before this one came from
  const std::int64_t before = sent_ - ring_.places;  // the step that had the place
  if (maker_->lends() && before >= maker_->options().first_step) {
    queue_->await_use(place);
    maker_->used(before);
  }
  const std::int64_t slot = made_.take();
  queue_->send(place, memory_.ring + static_cast<std::size_t>(place) * ring_.place_bytes(), this->slot(slot),
               ring_.place_bytes());
  ++sent_;
}

std::vector<std::int64_t> HostFeed::begins(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> ring(static_cast<std::size_t>(ring_.begins)), found;
  device_->read(memory_.begins, ring.data(), ring.size() * sizeof(std::int64_t));
  for (std::int64_t step = first; step < first + count; ++step)
    found.push_back(ring[static_cast<std::size_t>(step % ring_.begins)]);
  return found;
}

}  // namespace trainyard::train
