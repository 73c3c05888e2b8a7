#include "data/source/sample_source.h"

#include "base/sample_order.h"

namespace trainyard::data {

const char* name(SampleKind kind) {
  switch (kind) {
    case SampleKind::pixels:
      return "decoded images";
    case SampleKind::encoded:
      return "encoded images";
    case SampleKind::tokens:
      return "tokens";
    case SampleKind::boxes:
      return "images with boxes";
  }
  return "unknown";
}

std::string SampleSource::where(std::int64_t index) const { return fmt::format("sample {}", index); }

namespace {

class MemoryImages final : public SampleSource {
 public:
  MemoryImages(const HostTensor& images, const HostTensor& labels)
      : data_(images.data()),
        labels_(labels.as<std::int32_t>()),
        image_bytes_(images.bytes() / std::max<std::size_t>(labels_.size(), 1)) {}

  std::int64_t size() const override { return std::ssize(labels_); }
  Sample read(std::int64_t index, Scratch&) const override {
    const auto i = static_cast<std::size_t>(index);
    return {{data_ + i * image_bytes_, image_bytes_}, labels_[i]};
  }

 private:
  const std::byte* data_;
  std::span<const std::int32_t> labels_;
  std::size_t image_bytes_;
};

// The samples at positions [first, first + size) of a random order.
class RandomPart final : public SampleSource {
 public:
  RandomPart(std::shared_ptr<const SampleSource> all, const SampleOrder& order, std::int64_t first,
             std::int64_t size)
      : all_(std::move(all)), order_(order), first_(first), size_(size) {}

  std::int64_t size() const override { return size_; }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    return all_->read(order_.index(first_ + index), scratch);
  }
  std::string where(std::int64_t index) const override { return all_->where(order_.index(first_ + index)); }
  ReadCost cost() const override { return all_->cost(); }

 private:
  const std::shared_ptr<const SampleSource> all_;
  const SampleOrder order_;
  const std::int64_t first_, size_;
};

}  // namespace

std::unique_ptr<const SampleSource> images_in_memory(const HostTensor& images, const HostTensor& labels) {
  return std::make_unique<MemoryImages>(images, labels);
}

HeldOut hold_out(std::shared_ptr<const SampleSource> all) {
  constexpr std::uint64_t kSeed = 0x686f6c64;
  constexpr std::int64_t kOneOf = 10;
  const std::int64_t size = all->size();
  const SampleOrder order(kSeed, size);
  const std::int64_t tests = size < 2 ? 0 : std::max<std::int64_t>(size / kOneOf, 1);
  return {std::make_shared<RandomPart>(all, order, tests, size - tests),
          std::make_shared<RandomPart>(all, order, 0, tests)};
}

}  // namespace trainyard::data
