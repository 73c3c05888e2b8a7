#include "ps/shard.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trainyard::ps {

namespace {

std::size_t elements_of(const std::vector<Key>& keys, int server) {
  std::int64_t elements = 0;
  for (const Key& key : keys) elements += key.server == server ? key.elements : 0;
  return static_cast<std::size_t>(elements);
}

}  // namespace

Shard::Shard(const std::vector<Key>& keys, int server, std::span<const float> parameters, Sharing sharing)
    : sharing_(sharing), versions_(elements_of(keys, server)), newest_(versions_.take()) {
  for (std::size_t number = 0; number < keys.size(); ++number) {
    const Key& key = keys[number];
    if (key.server != server) continue;
    keys_.push_back(static_cast<std::uint32_t>(number));
    places_.push_back({elements_, key.elements});
    const auto part =
        parameters.subspan(static_cast<std::size_t>(key.first), static_cast<std::size_t>(key.elements));
    std::copy(part.begin(), part.end(), newest_->begin() + elements_);
    elements_ += key.elements;
  }
}

Shard::Place Shard::place_of(std::uint32_t key) const {
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (found == keys_.end() || *found != key) return {};
  return places_[static_cast<std::size_t>(found - keys_.begin())];
}

Shard::Version Shard::newest() const {
  const std::lock_guard lock(mutex_);
  if (sharing_ == Sharing::locked) {
    std::shared_ptr<std::vector<float>> copy = versions_.take();
    std::copy(newest_->begin(), newest_->end(), copy->begin());
    return {std::move(copy), updates_};
  }
  return {newest_, updates_};
}

std::int64_t Shard::updates() const {
  const std::lock_guard lock(mutex_);
  return updates_;
}

void Shard::apply(Updater& updater, std::span<const float> gradient) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(gradient.size()) == elements_);
  if (sharing_ == Sharing::locked) {
    const std::lock_guard lock(mutex_);
    return updater.apply(*newest_, gradient, updates_++);
  }
  const bool in_use = sharing_ == Sharing::snapshots || newest_.use_count() > 1;
  std::shared_ptr<std::vector<float>> next = in_use ? versions_.take() : newest_;
  if (in_use) std::copy(newest_->begin(), newest_->end(), next->begin());
  updater.apply(*next, gradient, updates());
  const std::lock_guard lock(mutex_);
  ++updates_;
  newest_ = std::move(next);
}

}  // namespace trainyard::ps
