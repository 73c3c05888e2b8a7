#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <stop_token>

#include "base/mutex.h"
#include "base/standard.h"

namespace trainyard {

// Keeps the first of the exceptions that threads of one job end with, for the thread that joins them.
class FirstError {
 public:
  // Any thread may call it, in a handler.
  void keep_current() TRAINYARD_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  // Call it when the threads have ended.
  void rethrow() TRAINYARD_EXCLUDES(mutex_) {
    std::exception_ptr error;
    {
      const MutexLock lock(mutex_);
      error = std::exchange(error_, nullptr);
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  Mutex mutex_;
  std::exception_ptr error_ TRAINYARD_GUARDED_BY(mutex_);
};

// Sleeps so long, or until the thread is asked to stop. Returns whether it was asked.
inline bool sleep_unless_stopped(const std::stop_token& stop, double seconds) {
  Mutex mutex;
  MutexLock lock(mutex);
  std::condition_variable_any never;
  return never.wait_for(lock, stop, std::chrono::duration<double>(seconds),
                        [&] { return stop.stop_requested(); });
}

}  // namespace trainyard
