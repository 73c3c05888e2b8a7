#pragma once

#include "base/mutex.h"
#include "tensor/tensor.h"

namespace trainyard::ensemble {

// Describes a sample, apart from its pixels.
struct SampleTag {
  std::int64_t id = 0;        // unique in the data set
  std::int64_t position = 0;  // in the order of the whole run, all epochs: no two samples have the same
  std::int32_t epoch = 0;     // in which this is seen, from 0
  std::int32_t label = 0;

  bool operator==(const SampleTag&) const = default;
};

// Samples of one size, preprocessed to bytes, in memory that can be sent as it is: a head, the tags, the
// pixels. It does not own the memory, which may be shared by processes.
class SampleBlock {
 public:
  struct Sizes {
    std::int64_t capacity = 0;      // samples
    std::int64_t sample_bytes = 0;  // of its pixels

    std::size_t block_bytes() const;
    // Returns the bytes that hold the head, all tags, and the pixels of so many samples.
    std::size_t used_bytes(std::int64_t samples) const;
  };

  // `memory` has sizes.block_bytes() bytes, aligned to 64.
  SampleBlock(const Sizes& sizes, std::byte* memory);

  const Sizes& sizes() const { return sizes_; }
  std::int64_t count() const { return head().count; }
  bool full() const { return count() == sizes_.capacity; }
  void clear() { head() = {}; }
  // Makes room for a sample and returns its place. REQUIRES: it is not full.
  std::uint8_t* add(const SampleTag& tag);
  // Drops the samples that are not kept; the others move up. REQUIRES: one a sample.
  void keep(const std::vector<char>& kept);
  // REQUIRES: 0 <= i < count().
  const SampleTag& tag(std::int64_t i) const { return tags()[i]; }
  const std::uint8_t* pixels(std::int64_t i) const { return first_pixel() + i * sizes_.sample_bytes; }

  // Returns all bytes that must be sent.
  std::span<std::byte> bytes() const { return {memory_, sizes_.used_bytes(count())}; }
  // After bytes came from elsewhere: false when they cannot be a block of these sizes.
  bool is_sound() const;

 private:
  struct Head {
    std::int64_t count = 0;
  };

  Head& head() const { return *reinterpret_cast<Head*>(memory_); }
  SampleTag* tags() const;
  std::uint8_t* first_pixel() const;

  Sizes sizes_;
  std::byte* memory_;
};

class BlockPool;

// An OwnedBlock is a block with memory that goes back to its pool when it goes.
class OwnedBlock {
 public:
  SampleBlock& operator*() { return block_; }
  SampleBlock* operator->() { return &block_; }
  std::span<std::byte> memory() const { return {memory_->data(), block_.sizes().block_bytes()}; }

 private:
  friend class BlockPool;
  OwnedBlock(const SampleBlock::Sizes& sizes, std::shared_ptr<AlignedBuffer> memory)
      : memory_(std::move(memory)), block_(sizes, memory_->data()) {
    block_.clear();
  }

  std::shared_ptr<AlignedBuffer> memory_;
  SampleBlock block_;
};

// Blocks of one size, whose memory is used again and again. Used by any number of threads.
class BlockPool {
 public:
  explicit BlockPool(const SampleBlock::Sizes& sizes) : sizes_(sizes), free_(std::make_shared<Free>()) {}

  const SampleBlock::Sizes& sizes() const { return sizes_; }
  OwnedBlock take();  // empty

 private:
  struct Free {
    Mutex mutex;
    std::vector<AlignedBuffer> memory TRAINYARD_GUARDED_BY(mutex);
  };

  const SampleBlock::Sizes sizes_;
  const std::shared_ptr<Free> free_;
};

}  // namespace trainyard::ensemble
