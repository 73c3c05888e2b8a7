#include "ps/server/shard.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

std::int64_t Shard::elements_of(const std::vector<Key>& keys, int server) {
  std::int64_t elements = 0;
  for (const Key& key : keys) elements += key.server == server ? key.elements : 0;
  return elements;
}

Shard::Shard(const std::vector<Key>& keys, int server, std::shared_ptr<StateMemory> memory, Sharing sharing)
    : memory_(std::move(memory)), sharing_(sharing), versions_(memory_->parameters(), memory_) {
  TRAINYARD_CHECK(elements_of(keys, server) == elements());
  std::int64_t first = 0;
  for (std::size_t number = 0; number < keys.size(); ++number) {
    const Key& key = keys[number];
    if (key.server != server) continue;
    keys_.push_back(static_cast<std::uint32_t>(number));
    places_.push_back({first, key.elements});
    first += key.elements;
  }
  if (memory_->has_begun()) take_over();
}

void Shard::take_over() {
  version_ = memory_->version();
  newest_ = versions_.take(version_.parameters);
}

void Shard::begin(std::span<const float> parameters, std::span<const float> slots, std::int64_t updates) {
  TRAINYARD_CHECK(!memory_->has_begun() && static_cast<std::int64_t>(parameters.size()) == elements() &&
                  slots.size() == memory_->slots(0).size());
  const std::shared_ptr<Buffer> first = versions_.take();
  std::copy(parameters.begin(), parameters.end(), first->values.begin());
  std::copy(slots.begin(), slots.end(), memory_->slots(0).begin());
  memory_->set_version({.updates = updates, .parameters = first->number, .slots = 0});
  const std::lock_guard lock(mutex_);
  newest_ = first;
  version_ = memory_->version();
}

Shard::Place Shard::place_of(std::uint32_t key) const {
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (found == keys_.end() || *found != key) return {};
  return places_[static_cast<std::size_t>(found - keys_.begin())];
}

Shard::Version Shard::newest() const {
  if (sharing_ == Sharing::racing) return {copy_racing(), updates()};
  const std::lock_guard lock(mutex_);
  if (sharing_ == Sharing::locked) {
    std::shared_ptr<Buffer> copy = versions_.take();
    std::copy(newest_->values.begin(), newest_->values.end(), copy->values.begin());
    return {std::move(copy), version_.updates};
  }
  return {newest_, version_.updates};
}

std::int64_t Shard::updates() const {
  if (sharing_ == Sharing::racing) return memory_->version().updates;
  const std::lock_guard lock(mutex_);
  return version_.updates;
}

void Shard::apply(Updater& updater, std::span<const float> gradient, int summed) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(gradient.size()) == elements());
  if (sharing_ == Sharing::racing) return race(updater, gradient);
  const std::lock_guard alone(applying_);
  std::unique_lock lock(mutex_);
  const StateMemory::Version from = version_;
  const std::shared_ptr<Buffer> old = newest_;
  if (sharing_ != Sharing::locked) lock.unlock();
  std::shared_ptr<Buffer> next = versions_.take();
  const int slots = 1 - from.slots;
  updater.apply({old->values, memory_->slots(from.slots)}, {next->values, memory_->slots(slots)}, gradient,
                from.updates, summed);
  if (!lock.owns_lock()) lock.lock();
  version_ = {.updates = from.updates + 1, .parameters = next->number, .slots = slots};
  memory_->set_version(version_);
  newest_ = std::move(next);
}

// Numbers are read and written one by one, whole but in no order: an update of another thread may come
// between and be lost. That is what the mode accepts for never waiting.
void Shard::race(const Updater& updater, std::span<const float> gradient) {
  const float rate = updater.rate(updates());
  float* values = newest_->values.data();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::atomic_ref<float> value(values[i]);
    value.store(value.load(std::memory_order_relaxed) - rate * gradient[i], std::memory_order_relaxed);
  }
  memory_->count_update();
}

std::shared_ptr<Buffer> Shard::copy_racing() const {
  std::shared_ptr<Buffer> copy = versions_.take();
  float* values = newest_->values.data();
  for (std::size_t i = 0; i < copy->values.size(); ++i)
    copy->values[i] = std::atomic_ref<float>(values[i]).load(std::memory_order_relaxed);
  return copy;
}

Shard::Copy Shard::copy() const {
  const std::lock_guard alone(applying_);
  const Version version = newest();
  const std::span<const float> slots = memory_->slots(version_.slots);
  return {.parameters = {version.values->values.begin(), version.values->values.end()},
          .slots = {slots.begin(), slots.end()},
          .updates = version.updates};
}

Applier::Applier(comm::transport::Loop& loop, Shard& shard, Updater& updater)
    : loop_(loop), shard_(shard), updater_(updater), thread_([this] { run(); }) {}

Applier::~Applier() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Applier::apply(Mode::Gradient gradient, std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(gradient), std::move(done)});
  }
  changed_.notify_all();
}

void Applier::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
}

void Applier::run() {
  while (true) {
    Waiting next;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      changed_.notify_all();
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      busy_ = true;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    shard_.apply(updater_, next.gradient->values, 1);
    next.gradient.reset();
    loop_.post([done = std::move(next.done), alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) done();
    });
  }
}

}  // namespace trainyard::ps
