#pragma once

#include <deque>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/standard.h"

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
  bool push(Item item, std::int64_t bytes) TRAINYARD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!closed_ && !fits(bytes)) {
      const double began = now_seconds();
      while (!closed_ && !fits(bytes)) has_room_.wait(lock);
      fill_.push_wait_seconds += now_seconds() - began;
    }
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
  std::optional<Item> pop() TRAINYARD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!closed_ && items_.empty()) {
      const double began = now_seconds();
      while (!closed_ && items_.empty()) has_items_.wait(lock);
      fill_.pop_wait_seconds += now_seconds() - began;
    }
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
  void close() TRAINYARD_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    has_room_.notify_all();
    has_items_.notify_all();
  }

  // Closes it and drops what is there.
  void abandon() TRAINYARD_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      items_.clear();
      fill_.items = fill_.bytes = 0;
    }
    close();
  }

  QueueFill fill() const TRAINYARD_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return fill_;
  }

 private:
  bool fits(std::int64_t bytes) const TRAINYARD_REQUIRES(mutex_) {
    if (items_.empty()) return true;
    return fill_.items < limits_.items && (limits_.bytes == 0 || fill_.bytes + bytes <= limits_.bytes);
  }

  const Limits limits_;
  mutable Mutex mutex_;
  ConditionVariable has_room_, has_items_;
  std::deque<std::pair<Item, std::int64_t>> items_ TRAINYARD_GUARDED_BY(mutex_);
  QueueFill fill_ TRAINYARD_GUARDED_BY(mutex_);
  bool closed_ TRAINYARD_GUARDED_BY(mutex_) = false;
};

}  // namespace trainyard::ensemble
