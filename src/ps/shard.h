#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ps/keys.h"

namespace trainyard::ps {

// Moves parameters by a gradient: what a server is given by who knows optimizers.
class Updater {
 public:
  virtual ~Updater() = default;
  // `step` counts updates from 0.
  virtual void apply(std::span<float> parameters, std::span<const float> gradient, std::int64_t step) = 0;
};

// A server's part of the parameters: its keys, one behind the other. Readers keep a version of it for as long
// as they need it; an update makes a new one only while somebody still reads the last.
class Shard {
 public:
  using Version = std::shared_ptr<const std::vector<float>>;

  // `parameters`: all of them, of which the keys of `server` are taken.
  Shard(const std::vector<Key>& keys, int server, std::span<const float> parameters);

  std::int64_t elements() const { return elements_; }
  int keys() const { return static_cast<int>(places_.size()); }
  // Where a key lies in this shard; empty when it belongs to another server.
  std::span<float> slice(std::span<float> shard, std::uint32_t key) const;
  std::span<const float> slice(std::span<const float> shard, std::uint32_t key) const;
  // The number of each key of this shard among all keys.
  std::vector<std::uint32_t> numbers() const;

  Version newest() const { return newest_; }
  std::int64_t updates() const { return updates_; }
  void apply(Updater& updater, std::span<const float> gradient);

 private:
  struct Place {
    std::uint32_t key;
    std::int64_t first, elements;
  };
  const Place* find(std::uint32_t key) const;

  std::vector<Place> places_;  // by key
  std::int64_t elements_ = 0, updates_ = 0;
  std::shared_ptr<std::vector<float>> newest_;
};

}  // namespace trainyard::ps
