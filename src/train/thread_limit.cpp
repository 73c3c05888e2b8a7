#include "train/thread_limit.h"

#include "base/cores.h"
#include "base/error.h"
#include "base/parallel.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

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
    fail(ErrorKind::usage, "--threads {}: this process may use 1 to {} cores", threads, most);
  if (threads > pool_limit(most)) fail(ErrorKind::usage, "--threads {}: built without OpenMP", threads);
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

}  // namespace trainyard::train
