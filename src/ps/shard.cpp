#include "ps/shard.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::ps {

Shard::Shard(const std::vector<Key>& keys, int server, std::span<const float> parameters)
    : newest_(std::make_shared<std::vector<float>>()) {
  for (std::size_t number = 0; number < keys.size(); ++number) {
    const Key& key = keys[number];
    if (key.server != server) continue;
    places_.push_back({static_cast<std::uint32_t>(number), elements_, key.elements});
    elements_ += key.elements;
    const auto part =
        parameters.subspan(static_cast<std::size_t>(key.first), static_cast<std::size_t>(key.elements));
    newest_->insert(newest_->end(), part.begin(), part.end());
  }
}

const Shard::Place* Shard::find(std::uint32_t key) const {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), key,
                       [](const Place& place, std::uint32_t wanted) { return place.key < wanted; });
  return found == places_.end() || found->key != key ? nullptr : &*found;
}

std::span<float> Shard::slice(std::span<float> shard, std::uint32_t key) const {
  const Place* place = find(key);
  if (place == nullptr) return {};
  return shard.subspan(static_cast<std::size_t>(place->first), static_cast<std::size_t>(place->elements));
}

std::span<const float> Shard::slice(std::span<const float> shard, std::uint32_t key) const {
  const Place* place = find(key);
  if (place == nullptr) return {};
  return shard.subspan(static_cast<std::size_t>(place->first), static_cast<std::size_t>(place->elements));
}

std::vector<std::uint32_t> Shard::numbers() const {
  std::vector<std::uint32_t> numbers;
  for (const Place& place : places_) numbers.push_back(place.key);
  return numbers;
}

void Shard::apply(Updater& updater, std::span<const float> gradient) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(gradient.size()) == elements_);
  if (newest_.use_count() > 1) newest_ = std::make_shared<std::vector<float>>(*newest_);
  updater.apply(*newest_, gradient, updates_++);
}

}  // namespace trainyard::ps
