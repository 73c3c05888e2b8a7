#include "ensemble/sample_block.h"

namespace trainyard::ensemble {
namespace {

constexpr std::size_t kTagsAt = 64;

std::size_t pixels_at(const SampleBlock::Sizes& sizes) {
  return kTagsAt + align_up(static_cast<std::size_t>(sizes.capacity) * sizeof(SampleTag));
}

}  // namespace

std::size_t SampleBlock::Sizes::used_bytes(std::int64_t samples) const {
  return pixels_at(*this) + static_cast<std::size_t>(samples * sample_bytes);
}

std::size_t SampleBlock::Sizes::block_bytes() const { return align_up(used_bytes(capacity)); }

SampleBlock::SampleBlock(const Sizes& sizes, std::byte* memory) : sizes_(sizes), memory_(memory) {
  TRAINYARD_CHECK(sizes.capacity > 0 && sizes.sample_bytes > 0 && memory != nullptr);
}

SampleTag* SampleBlock::tags() const { return reinterpret_cast<SampleTag*>(memory_ + kTagsAt); }

std::uint8_t* SampleBlock::first_pixel() const {
  return reinterpret_cast<std::uint8_t*>(memory_ + pixels_at(sizes_));
}

std::uint8_t* SampleBlock::add(const SampleTag& tag) {
  TRAINYARD_CHECK(!full());
  const std::int64_t at = head().count++;
  tags()[at] = tag;
  return first_pixel() + at * sizes_.sample_bytes;
}

void SampleBlock::keep(const std::vector<char>& kept) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(kept.size()) == count());
  std::int64_t to = 0;
  for (std::int64_t from = 0; from < count(); ++from) {
    if (kept[static_cast<std::size_t>(from)] == 0) continue;
    if (to != from) {
      tags()[to] = tags()[from];
      std::copy_n(pixels(from), sizes_.sample_bytes, first_pixel() + to * sizes_.sample_bytes);
    }
    ++to;
  }
  head().count = to;
}

bool SampleBlock::is_sound() const { return count() >= 0 && count() <= sizes_.capacity; }

OwnedBlock BlockPool::take() {
  AlignedBuffer memory;
  {
    const MutexLock lock(free_->mutex);
    if (!free_->memory.empty()) {
      memory = std::move(free_->memory.back());
      free_->memory.pop_back();
    }
  }
  if (memory.data() == nullptr) memory = AlignedBuffer(sizes_.block_bytes());
  return {sizes_, {new AlignedBuffer(std::move(memory)), [free = free_](AlignedBuffer* used) {
                     const MutexLock lock(free->mutex);
                     free->memory.push_back(std::move(*used));
                     delete used;
                   }}};
}

}  // namespace trainyard::ensemble
