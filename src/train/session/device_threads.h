#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "base/standard.h"

namespace trainyard::train {

// Returns the cores for so many threads, physical ones first; 0 means every core this process may use. Error
// (usage) when there are fewer.
std::vector<int> cores_for(int threads);

// One thread per core for the calling thread and the pool that our kernels and oneDNN share; they, and all
// threads they start, run nowhere else. Returns the number of threads. Error (config) when the environment
// keeps the pool smaller.
int limit_to(std::span<const int> cores);

// Calls cores_for() and limit_to().
int limit_threads(int threads);

// A DeviceThreads is one thread per device; device 0's is the one that owns this. The threads sleep between
// calls.
class DeviceThreads {
 public:
  explicit DeviceThreads(int devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  int size() const { return static_cast<int>(errors_.size()); }

  // Runs body(device) on all of them at once and returns when all have ended. It allocates nothing itself. It
  // rethrows an Error of the lowest device, but one of kind peer only if there is no other; it is named
  // unless all devices failed.
  void run(const std::function<void(int device)>& body);

 private:
  void serve(int device);
  void work(int device) noexcept;
  void rethrow();

  const std::function<void(int)>* body_ = nullptr;  // null at the end: the threads leave
  std::vector<std::exception_ptr> errors_;          // one a device
  std::atomic<unsigned> round_{0};
  std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
};

}  // namespace trainyard::train
