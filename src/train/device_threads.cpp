#include "train/device_threads.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::train {
namespace {

bool is_error(const std::exception_ptr& error) { return error != nullptr; }

// Not merely the news that another device failed.
bool is_cause(const std::exception_ptr& error) {
  if (error == nullptr) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    return caught.kind() != ErrorKind::peer;
  } catch (...) {
    return true;
  }
}

}  // namespace

DeviceThreads::DeviceThreads(int devices) : errors_(static_cast<std::size_t>(devices)) {
  TRAINYARD_CHECK(devices >= 1);
  for (int device = 1; device < devices; ++device) threads_.emplace_back(&DeviceThreads::serve, this, device);
}

DeviceThreads::~DeviceThreads() {
  body_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceThreads::run(const std::function<void(int)>& body) {
  body_ = &body;
  running_.store(size() - 1);
  round_.fetch_add(1);
  round_.notify_all();
  work(0);
  for (int left = running_.load(); left != 0; left = running_.load()) running_.wait(left);
  if (std::any_of(errors_.begin(), errors_.end(), is_error)) rethrow();
}

void DeviceThreads::serve(int device) {
  for (unsigned served = 0;; ++served) {
    round_.wait(served);
    if (body_ == nullptr) return;
    work(device);
    if (running_.fetch_sub(1) == 1) running_.notify_one();
  }
}

void DeviceThreads::work(int device) noexcept {
  try {
    (*body_)(device);
  } catch (...) {
    errors_[static_cast<std::size_t>(device)] = std::current_exception();
  }
}

void DeviceThreads::rethrow() {
  const std::vector<std::exception_ptr> errors(errors_);
  std::fill(errors_.begin(), errors_.end(), nullptr);
  auto chosen = std::find_if(errors.begin(), errors.end(), is_cause);
  if (chosen == errors.end()) chosen = std::find_if(errors.begin(), errors.end(), is_error);
  if (errors.size() == 1 || std::all_of(errors.begin(), errors.end(), is_cause))
    std::rethrow_exception(*chosen);
  try {
    std::rethrow_exception(*chosen);
  } catch (const Error& error) {
    fail(error.kind(), "device {}: {}", chosen - errors.begin(), error.what());
  }
}

}  // namespace trainyard::train
