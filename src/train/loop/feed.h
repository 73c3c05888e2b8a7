#pragma once

#include "backend/device.h"
#include "backend/input.h"
#include "backend/kernel.h"
#include "data/view/batch_maker.h"
#include "data/view/batch_stream.h"
#include "train/exchange/replicas.h"
#include "train/session/session.h"
#include "train/session/step_tracer.h"

namespace trainyard::train {

// Puts the training images into the memory of the session's device, and a kernel before each step that makes
// its batch of them: the batches that a BatchStream of these options makes. Or the reason why not; then the
// host must make them. REQUIRES: no step was run yet.
backend::Decision feed_from_device(Session& session, const data::Dataset& dataset,
                                   const data::BatchStreamOptions& options);

// Batches that threads make ahead of the steps of devices that are the host: a stream for each, on its cores.
class HostBatches {
 public:
  using MakerOf = std::function<std::shared_ptr<const data::BatchMaker>(int device)>;

  // The replicas must outlive it.
  HostBatches(Replicas& replicas, const MakerOf& maker_of);

  // Writes the next batch where the device's step reads it, in its thread; returns the images that count.
  // Tells `tracer`, which may be null, when the batch came.
  std::int64_t fill(int device, StepTracer* tracer = nullptr);

  // So far, in fill(): until a batch was ready, was handed over and copied. Steps stand still meanwhile.
  double wait_seconds(int device) const { return wait_seconds_[static_cast<std::size_t>(device)]; }
  double longest_wait_seconds() const;  // of all devices

 private:
  Replicas& replicas_;
  std::vector<std::unique_ptr<data::BatchStream>> streams_;
  std::vector<double> wait_seconds_;  // by device, each written by its thread
};

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

  // Called right before and right after a step is started. Steps go on one by one from the maker's
  // first_step.
  void before(std::int64_t step);
  void after(std::int64_t step) { queue_->give_back(ring_.place_of(step)); }

  // Keep and return the copies for a trace, as CopyQueue has them.
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

// Says who makes the batches of a device that is not the host. automatic: the device makes them if the images
// are in memory and fit into its own.
enum class Feed { automatic, device, host };

const char* name(Feed feed);  // "auto", "device", "host"
std::vector<std::string> feed_names();
std::optional<Feed> find_feed(const std::string& name);

// Batches on their way to a device while it uses one: places of the ring.
inline constexpr int kFeedPlaces = 4;

// Returns the options with which the host makes a device's batches: ahead, by threads of the session's.
data::BatchStreamOptions host_options(const Session& session, data::BatchStreamOptions options);

// Lets the device take at the beginning of each step what the host makes. Error (device) when memory is
// short. REQUIRES: the device is not the host, no step was run yet.
std::unique_ptr<HostFeed> feed_from_host(Session& session, std::shared_ptr<const data::BatchMaker> maker);

// The same of samples in the device's memory, which the maker keeps there: it chooses a
// backend::GatheredSample for each image.
std::unique_ptr<HostFeed> feed_by_gather(Session& session, std::shared_ptr<const data::BatchMaker> maker,
                                         const backend::SampleGather& gather, std::byte* samples);

// Returns the same of a data set: the batches that a BatchStream of these options makes. Null: the device
// makes them by itself. Error (usage) when it is asked to and cannot, Error (device) when memory is short.
// REQUIRES: the device is not the host, no step was run yet.
std::unique_ptr<HostFeed> feed_device(Session& session, const data::Dataset& dataset,
                                      const data::BatchStreamOptions& options, Feed feed);

}  // namespace trainyard::train
