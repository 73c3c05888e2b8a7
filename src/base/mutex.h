#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

// A mutex that Clang can check: members say which mutex guards them, functions which one they want held, and
// `scripts/tidy` compiles with Clang and takes a violation for an error. Other compilers see nothing of it.
#ifdef __clang__
#define TRAINYARD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TRAINYARD_THREAD_SAFETY(attribute)
#endif

// A member with this attribute may be used only while the mutex is held.
#define TRAINYARD_GUARDED_BY(mutex) TRAINYARD_THREAD_SAFETY(guarded_by(mutex))
// The caller of a function holds the mutex (REQUIRES), or must not hold it because the function takes it
// (EXCLUDES).
#define TRAINYARD_REQUIRES(...) TRAINYARD_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define TRAINYARD_EXCLUDES(...) TRAINYARD_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
// This mutex is taken while the other one is held, never the other way round.
#define TRAINYARD_ACQUIRED_AFTER(...) TRAINYARD_THREAD_SAFETY(acquired_after(__VA_ARGS__))

namespace trainyard {

// Only a MutexLock takes it.
class TRAINYARD_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex as long as it lives, or until it is told otherwise. Belongs to one thread.
class TRAINYARD_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TRAINYARD_THREAD_SAFETY(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() TRAINYARD_THREAD_SAFETY(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() TRAINYARD_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void unlock() TRAINYARD_THREAD_SAFETY(release_capability()) { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

// Waits give the mutex up and hold it again when they return, which may be for no reason. The caller tests
// its condition in a loop: Clang does not know that a lambda is called with the mutex held.
//   while (!ready_) changed_.wait(lock);
class ConditionVariable {
 public:
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  // Returns false when the time, by now_seconds(), has come.
  bool wait_until(MutexLock& lock, double seconds) { return wait_for(lock, seconds - now_seconds()); }
  // Returns false when nobody notified for so long.
  bool wait_for(MutexLock& lock, double seconds) {
    return changed_.wait_for(lock.lock_, std::chrono::duration<double>(seconds)) ==
           std::cv_status::no_timeout;
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace trainyard
