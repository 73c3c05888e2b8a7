#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ps/buffer_pool.h"
#include "ps/keys.h"

namespace trainyard::ps {

// Moves parameters by a gradient: what a server is given by who knows optimizers.
class Updater {
 public:
  virtual ~Updater() = default;
  // `step` counts updates from 0.
  virtual void apply(std::span<float> parameters, std::span<const float> gradient, std::int64_t step) = 0;
};

// How one thread reads a shard that another may update.
enum class Sharing : std::uint8_t {
  one_thread,  // it is the same: an update makes a new version only while somebody still holds the last
  snapshots,   // every update makes a new version, and then puts it in place of the last
  locked,      // updates and readers take turns, and readers make a copy
};

// A server's part of the parameters: its keys, one behind the other.
class Shard {
 public:
  struct Version {
    std::shared_ptr<const std::vector<float>> values;
    std::int64_t updates = 0;  // that are in them
  };

  // `parameters`: all of them, of which the keys of `server` are taken.
  Shard(const std::vector<Key>& keys, int server, std::span<const float> parameters, Sharing sharing);

  std::int64_t elements() const { return elements_; }
  // The number of each key of this shard among all keys.
  const std::vector<std::uint32_t>& keys() const { return keys_; }
  // Where a key lies in an array of this shard; empty when it belongs to another server.
  template <typename Number>
  std::span<Number> slice(std::span<Number> shard, std::uint32_t key) const {
    const Place place = place_of(key);
    return shard.subspan(static_cast<std::size_t>(place.first), static_cast<std::size_t>(place.elements));
  }

  Version newest() const;
  std::int64_t updates() const;
  // By one thread at a time.
  void apply(Updater& updater, std::span<const float> gradient);

 private:
  struct Place {
    std::int64_t first = 0, elements = 0;
  };
  Place place_of(std::uint32_t key) const;

  Sharing sharing_;
  std::vector<std::uint32_t> keys_;
  std::vector<Place> places_;  // by the place of their number in keys_
  std::int64_t elements_ = 0;

  mutable BufferPool versions_;

  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<std::vector<float>> newest_;
  std::int64_t updates_ = 0;
};

}  // namespace trainyard::ps
