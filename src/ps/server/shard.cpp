#include "ps/server/shard.h"

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
  const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
  if (sharing_ == Sharing::locked) {
    std::shared_ptr<Buffer> copy = versions_.take();
    std::copy(newest_->values.begin(), newest_->values.end(), copy->values.begin());
    return {std::move(copy), version_.updates};
  }
  return {newest_, version_.updates};
}

std::int64_t Shard::updates() const {
  if (sharing_ == Sharing::racing) return memory_->version().updates;
  const MutexLock lock(mutex_);
  return version_.updates;
}

void Shard::apply(Updater& updater, std::span<const float> gradient, int summed) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(gradient.size()) == elements());
  if (sharing_ == Sharing::racing) return race(updater, gradient);
  const MutexLock alone(applying_);
  MutexLock lock(mutex_);
  const Numbers from{newest_, version_};
  if (sharing_ == Sharing::locked) return put(updated(from, updater, gradient, summed));
  lock.unlock();
  Numbers next = updated(from, updater, gradient, summed);
  lock.lock();
  put(std::move(next));
}

Shard::Numbers Shard::updated(const Numbers& from, Updater& updater, std::span<const float> gradient,
                              int summed) {
  std::shared_ptr<Buffer> next = versions_.take();
  const int slots = 1 - from.version.slots;
  updater.apply({from.values->values, memory_->slots(from.version.slots)},
                {next->values, memory_->slots(slots)}, gradient, from.version.updates, summed);
  const int number = next->number;
  return {std::move(next), {.updates = from.version.updates + 1, .parameters = number, .slots = slots}};
}

void Shard::put(Numbers next) {
  version_ = next.version;
  memory_->set_version(version_);
  newest_ = std::move(next.values);
}

std::span<float> Shard::racing() const {
  const MutexLock lock(mutex_);
  return newest_->values;
}

// Numbers are read and written one by one, whole but in no order: an update of another thread may come
// between and be lost. That is what the mode accepts for never waiting.
void Shard::race(const Updater& updater, std::span<const float> gradient) {
  const float rate = updater.rate(updates());
  const std::span<float> values = racing();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::atomic_ref<float> value(values[i]);
    value.store(value.load(std::memory_order_relaxed) - rate * gradient[i], std::memory_order_relaxed);
  }
  memory_->count_update();
}

std::shared_ptr<Buffer> Shard::copy_racing() const {
  std::shared_ptr<Buffer> copy = versions_.take();
  const std::span<float> values = racing();
  for (std::size_t i = 0; i < copy->values.size(); ++i)
    copy->values[i] = std::atomic_ref<float>(values[i]).load(std::memory_order_relaxed);
  return copy;
}

std::span<const float> Shard::newest_slots() const {
  const MutexLock lock(mutex_);
  return memory_->slots(version_.slots);
}

Shard::Copy Shard::copy() const {
  const MutexLock alone(applying_);
  const Version version = newest();
  const std::span<const float> slots = newest_slots();
  return {.parameters = {version.values->values.begin(), version.values->values.end()},
          .slots = {slots.begin(), slots.end()},
          .updates = version.updates};
}

Applier::Applier(comm::transport::Loop& loop, Shard& shard, Updater& updater)
    : loop_(loop), shard_(shard), updater_(updater), thread_([this] { run(); }) {}

Applier::~Applier() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Applier::apply(Mode::Gradient gradient, std::function<void()> done) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back({std::move(gradient), std::move(done)});
  }
  changed_.notify_all();
}

void Applier::finish() {
  MutexLock lock(mutex_);
  while (!waiting_.empty() || busy_) changed_.wait(lock);
}

void Applier::run() {
  while (true) {
    Waiting next;
    {
      MutexLock lock(mutex_);
      busy_ = false;
      changed_.notify_all();
      while (!ending_ && waiting_.empty()) changed_.wait(lock);
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
