#pragma once

#include <atomic>
#include <deque>
#include <thread>

#include "base/mutex.h"
#include "comm/transport/loop.h"
#include "ps/mode/mode.h"
#include "ps/server/state.h"
#include "ps/wire/buffer_pool.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// Moves parameters by a gradient. The caller that knows the optimizer gives it to a server.
class Updater {
 public:
  virtual ~Updater() = default;

  // `slots`: the arrays of the optimizer, one behind the other, each as long as the parameters.
  struct From {
    std::span<const float> parameters, slots;
  };
  struct To {
    std::span<float> parameters, slots;
  };
  // `step` counts updates from 0; `summed`: so many gradients are added up in this one.
  virtual void apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
                     int summed) = 0;
  // Returns the factor by which a gradient is subtracted, for updates that do not wait for each other and
  // know nothing else.
  virtual float rate(std::int64_t step) const = 0;
  virtual int slots() const = 0;
};

// A Shard is a server's part of the parameters: its keys, one behind the other.
class Shard {
 public:
  struct Version {
    std::shared_ptr<const Buffer> values;
    std::int64_t updates = 0;  // that are in them
  };

  // `memory` is of as many elements as the server's keys have.
  Shard(const std::vector<Key>& keys, int server, std::shared_ptr<StateMemory> memory, Sharing sharing);
  static std::int64_t elements_of(const std::vector<Key>& keys, int server);

  std::int64_t elements() const { return memory_->sizes().elements; }
  // Returns the number of each key of this shard among all keys.
  const std::vector<std::uint32_t>& keys() const { return keys_; }
  // Returns a key's slice of an array of this shard; empty when the key belongs to another server.
  template <typename Number>
  std::span<Number> slice(std::span<Number> shard, std::uint32_t key) const {
    const Place place = place_of(key);
    return shard.subspan(static_cast<std::size_t>(place.first), static_cast<std::size_t>(place.elements));
  }

  // The first version; parameters and slots are those of this shard alone.
  void begin(std::span<const float> parameters, std::span<const float> slots, std::int64_t updates)
      TRAINYARD_EXCLUDES(mutex_);

  Version newest() const TRAINYARD_EXCLUDES(mutex_);
  std::int64_t updates() const TRAINYARD_EXCLUDES(mutex_);
  // One thread at a time may call it, unless updates race.
  void apply(Updater& updater, std::span<const float> gradient, int summed)
      TRAINYARD_EXCLUDES(applying_, mutex_);

  struct Copy {
    std::vector<float> parameters, slots;
    std::int64_t updates = 0;
  };
  // Returns numbers that are all of one version.
  Copy copy() const TRAINYARD_EXCLUDES(applying_, mutex_);

 private:
  struct Place {
    std::int64_t first = 0, elements = 0;
  };
  struct Numbers {
    std::shared_ptr<Buffer> values;
    StateMemory::Version version;
  };
  Place place_of(std::uint32_t key) const;
  void take_over() TRAINYARD_EXCLUDES(mutex_);
  // Makes the next version, in memory that nobody reads yet, and puts it in place.
  Numbers updated(const Numbers& from, Updater& updater, std::span<const float> gradient, int summed)
      TRAINYARD_REQUIRES(applying_);
  void put(Numbers next) TRAINYARD_REQUIRES(mutex_);
  std::span<const float> newest_slots() const TRAINYARD_REQUIRES(applying_) TRAINYARD_EXCLUDES(mutex_);
  // The numbers of the only version that there is when updates race.
  std::span<float> racing() const TRAINYARD_EXCLUDES(mutex_);
  void race(const Updater& updater, std::span<const float> gradient) TRAINYARD_EXCLUDES(mutex_);
  std::shared_ptr<Buffer> copy_racing() const TRAINYARD_EXCLUDES(mutex_);

  std::shared_ptr<StateMemory> memory_;
  Sharing sharing_;
  std::vector<std::uint32_t> keys_;
  std::vector<Place> places_;  // by the place of their number in keys_

  mutable BufferPool versions_;

  mutable Mutex applying_;  // held while a version is made, and while all of one is copied
  mutable Mutex mutex_ TRAINYARD_ACQUIRED_AFTER(applying_);
  std::shared_ptr<Buffer> newest_ TRAINYARD_GUARDED_BY(mutex_);
  StateMemory::Version version_ TRAINYARD_GUARDED_BY(mutex_);
};

// An Applier is a thread that updates a shard beside the one that talks.
class Applier {
 public:
  Applier(comm::transport::Loop& loop, Shard& shard, Updater& updater);
  ~Applier();  // after the update that is under way; the others are not made
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // Applies in the order of the calls; `done` is called on the loop, unless the applier is gone by then.
  void apply(Mode::Gradient gradient, std::function<void()> done) TRAINYARD_EXCLUDES(mutex_);
  // Waits until all of it is applied.
  void finish() TRAINYARD_EXCLUDES(mutex_);

 private:
  struct Waiting {
    Mode::Gradient gradient;
    std::function<void()> done;
  };
  void run() TRAINYARD_EXCLUDES(mutex_);

  comm::transport::Loop& loop_;
  Shard& shard_;
  Updater& updater_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Waiting> waiting_ TRAINYARD_GUARDED_BY(mutex_);
  bool ending_ TRAINYARD_GUARDED_BY(mutex_) = false, busy_ TRAINYARD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trainyard::ps
