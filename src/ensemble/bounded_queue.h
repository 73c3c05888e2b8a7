#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace trainyard::ensemble {

// Says how full a queue is, and how long its users waited for it so far.
struct QueueFill {
  std::int64_t items = 0, bytes = 0;
  std::int64_t most_items = 0, most_bytes = 0;  // that fit; bytes 0: any number
  std::int64_t pushed = 0, popped = 0;
  double push_wait_seconds = 0, pop_wait_seconds = 0;  // of all threads together
};

// Connects two stages of a pipeline, with any number of threads on either side. A waiting thread sleeps.
template <typename Item>
class BoundedQueue {
 public:
  struct Limits {
    std::int64_t items = 0, bytes = 0;  // bytes 0: any number
  };

  explicit BoundedQueue(const Limits& limits) : limits_(limits) {
    fill_.most_items = limits.items;
    fill_.most_bytes = limits.bytes;
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  const Limits& limits() const { return limits_; }

  // Waits while it is full; one item always fits. False: it is closed, and the item was not taken.
  bool push(Item item, std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    wait(lock, has_room_, fill_.push_wait_seconds, [&] { return closed_ || fits(bytes); });
    if (closed_) return false;
    items_.emplace_back(std::move(item), bytes);
    ++fill_.items;
    ++fill_.pushed;
    fill_.bytes += bytes;
    lock.unlock();
    has_items_.notify_one();
    return true;
  }

  // Waits while it is empty. None: it is closed, and all was taken.
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    wait(lock, has_items_, fill_.pop_wait_seconds, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    auto [item, bytes] = std::move(items_.front());
    items_.pop_front();
    --fill_.items;
    ++fill_.popped;
    fill_.bytes -= bytes;
    lock.unlock();
    has_room_.notify_all();  // those who wait may need unlike room
    return std::move(item);
  }

  // Nothing more comes in; what is there can be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    has_room_.notify_all();
    has_items_.notify_all();
  }

  // Closes it and drops what is there.
  void abandon() {
    {
      const std::lock_guard lock(mutex_);
      items_.clear();
      fill_.items = fill_.bytes = 0;
    }
    close();
  }

  QueueFill fill() const {
    const std::lock_guard lock(mutex_);
    return fill_;
  }

 private:
  bool fits(std::int64_t bytes) const {
    if (items_.empty()) return true;
    return fill_.items < limits_.items && (limits_.bytes == 0 || fill_.bytes + bytes <= limits_.bytes);
  }

  template <typename Ready>
  static void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, double& waited,
                   const Ready& ready) {
    if (ready()) return;
    const double began = now_seconds();
    changed.wait(lock, ready);
    waited += now_seconds() - began;
  }

  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_, has_items_;
  std::deque<std::pair<Item, std::int64_t>> items_;
  QueueFill fill_;
  bool closed_ = false;
};

}  // namespace trainyard::ensemble
