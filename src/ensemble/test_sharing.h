#pragma once

#include "base/mutex.h"
#include "ensemble/sharing.h"

// Samples whose content says what they are, made and taken without any image.
namespace trainyard::ensemble {

inline constexpr SampleBlock::Sizes kTestSizes{.capacity = 6, .sample_bytes = 20};
inline constexpr std::int64_t kTestIds = 101;
inline constexpr std::int32_t kTestEpochs = 3;
inline constexpr std::int64_t kTestSamples = kTestEpochs * kTestIds;

inline std::uint8_t test_pixel(const SampleTag& tag) {
  return static_cast<std::uint8_t>(tag.id * 3 + tag.epoch);
}

// Makes every p-th id of every epoch, from its own on.
class TestMaker {
 public:
  TestMaker(int rank, int preprocessors) : next_(rank), stride_(preprocessors) {}

  bool make(SampleBlock& block) {
    for (; !block.full() && epoch_ < kTestEpochs; next_ += stride_) {
      if (next_ >= kTestIds) {
        next_ = next_ % stride_ - stride_;
        ++epoch_;
        continue;
      }
      const SampleTag tag{.id = next_, .position = epoch_ * kTestIds + next_, .epoch = epoch_, .label = 1};
      std::fill_n(block.add(tag), kTestSizes.sample_bytes, test_pixel(tag));
      ++made_;
    }
    return epoch_ < kTestEpochs;
  }
  std::int64_t made() const { return made_; }

 private:
  std::int64_t next_, stride_, made_ = 0;
  std::int32_t epoch_ = 0;
};

// Collects the samples that a member received.
class TestTaker {
 public:
  explicit TestTaker(std::int64_t wanted) : wanted_(wanted) {}

  bool take(OwnedBlock block) {
    const MutexLock lock(mutex_);
    for (std::int64_t i = 0; i < block->count(); ++i) {
      const SampleTag& tag = block->tag(i);
      if (block->pixels(i)[kTestSizes.sample_bytes - 1] != test_pixel(tag)) damaged_ = true;
      ++times_[{tag.epoch, tag.id}];
      order_.push_back(tag.id);
    }
    return static_cast<std::int64_t>(order_.size()) < wanted_;
  }

  // Returns "" if each sample came once, and as many as were wanted, or all.
  std::string complaint() const {
    const MutexLock lock(mutex_);
    if (damaged_) return "a sample was not what its id says";
    for (const auto& [which, times] : times_)
      if (times != 1) return fmt::format("epoch {}, id {}: {} times", which.first, which.second, times);
    const auto count = static_cast<std::int64_t>(order_.size());
    return count >= std::min(wanted_, kTestSamples) ? ""
                                                    : fmt::format("{} samples, {} wanted", count, wanted_);
  }
  std::vector<std::int64_t> order() const {
    const MutexLock lock(mutex_);
    return order_;
  }

 private:
  const std::int64_t wanted_;
  mutable Mutex mutex_;
  std::map<std::pair<std::int32_t, std::int64_t>, int> times_ TRAINYARD_GUARDED_BY(mutex_);
  std::vector<std::int64_t> order_ TRAINYARD_GUARDED_BY(mutex_);
  bool damaged_ TRAINYARD_GUARDED_BY(mutex_) = false;
};

// Returns whether a design has a meaning for so many preprocessors.
inline bool fits(Design design, int members, int preprocessors) {
  if (design == Design::all_shared) return preprocessors == members;
  if (design == Design::baseline) return preprocessors == 1;
  return preprocessors <= members;
}

}  // namespace trainyard::ensemble
