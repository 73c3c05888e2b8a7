#include "train/session/device_threads.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "base/cores.h"
#include "base/error.h"
#include "base/parallel.h"

namespace trainyard::train {

namespace {

// Numbers too small for a normal f32 cost a hundred times more on most CPUs and mean nothing here.
void flush_denormals() {
#ifdef __SSE__
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace

std::vector<int> cores_for(int threads) {
  const std::vector<int>& cores = process_cores();
  const auto most = static_cast<int>(cores.size());
  if (threads < 0 || threads > most)
    fail(ErrorKind::usage, "{} {}: this process may use 1 to {} cores", Setting{"threads"}, threads, most);
  if (threads > pool_limit(most))
    fail(ErrorKind::usage, "{} {}: built without OpenMP", Setting{"threads"}, threads);
  return {cores.begin(), cores.begin() + (threads == 0 ? pool_limit(most) : threads)};
}

int limit_to(std::span<const int> cores) {
  const auto threads = static_cast<int>(cores.size());
  release_pool();  // its threads run where they ran before, and more of them than wanted may stay
  pin_thread(cores);
  set_thread_count(threads);
  if (const int found = team_size(); found != threads)
    fail(ErrorKind::config,
         "{} threads asked for, but the environment allows {} (OMP_THREAD_LIMIT, OMP_DYNAMIC)", threads,
         found);
  // OMP_PROC_BIND and GOMP_CPU_AFFINITY may have bound the new pool elsewhere.
  parallel_chunks(threads, 1, [&](std::int64_t, std::int64_t, int) {
    pin_thread(cores);
    flush_denormals();
  });
  return threads;
}

int limit_threads(int threads) { return limit_to(cores_for(threads)); }

namespace {

bool is_error(const std::exception_ptr& error) { return error != nullptr; }

// Returns whether the error is more than the news that another device failed.
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
