#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/input_ring.h"
#include "data/batch_maker.h"
#include "data/prefetch_ring.h"

namespace trainyard::train {

// Batches that the host makes for a device: threads make them where the device can copy from, and it copies
// them beside its steps into a ring in its memory, from which each step takes its own. The host waits only
// for a batch that is needed now and is not made yet, or while the ring is full.
class HostFeed {
 public:
  struct Memory {
    std::byte* ring;          // InputRing::bytes()
    const std::byte* begins;  // InputRing::begins times, which the steps note
  };

  // The device's memory must outlive it. Makes as many batches ahead of those on their way as the maker's
  // depth says. REQUIRES: the device has a copy queue. Error (device) when memory is short.
  HostFeed(std::shared_ptr<backend::Device> device, const backend::InputRing& ring, const Memory& memory,
           std::shared_ptr<const data::BatchMaker> maker);

  // Right before and right after a step is started. Steps go on one by one from the maker's first_step.
  void before(std::int64_t step);
  void after(std::int64_t step) { queue_->give_back(ring_.place_of(step)); }

  // For a trace: as CopyQueue has them.
  void watch_copies() { queue_->watch(true); }
  std::vector<backend::CopyQueue::Copy> copies() { return queue_->copies(); }

  // When steps [first, first + count) began, in nanoseconds of the device's clock; waits for them.
  // REQUIRES: they are among the last InputRing::begins.
  std::vector<std::int64_t> begins(std::int64_t first, std::int64_t count) const;

 private:
  std::byte* slot(std::int64_t slot) const {
    return queue_->host() + static_cast<std::size_t>(slot) * ring_.place_bytes();
  }
  void make(std::int64_t slot, std::int64_t step);
  bool may_send();  // the next one, without waiting
  void send_next();

  const std::shared_ptr<backend::Device> device_;
  const backend::InputRing ring_;
  const Memory memory_;
  const std::shared_ptr<const data::BatchMaker> maker_;
  std::int64_t sent_;  // steps below it have their batches on the way
  std::vector<data::BatchMaker::Scratch> scratch_;
  std::unique_ptr<backend::CopyQueue> queue_;
  data::PrefetchRing made_;  // last: its threads use all of the above
};

}  // namespace trainyard::train
