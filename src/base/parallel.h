#pragma once

#ifdef _OPENMP
#include <omp.h>

#include "base/standard.h"
#endif

namespace trainyard {

// Returns the number of threads that a parallel region started by this thread will have. oneDNN uses the same
// pool.
inline int thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

inline void set_thread_count([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

// Returns the number of threads that a pool can have at most on so many cores: one without OpenMP.
inline int pool_limit([[maybe_unused]] int cores) {
#ifdef _OPENMP
  return cores;
#else
  return 1;
#endif
}

// Ends the idle threads of the calling thread's pool; the next parallel region makes new ones.
inline void release_pool() {
#ifdef _OPENMP
  omp_pause_resource_all(omp_pause_soft);
#endif
}

// Returns the number of threads that a parallel region really gets: fewer than thread_count() when the
// environment forbids them.
inline int team_size() {
  int size = 1;
#ifdef _OPENMP
#pragma omp parallel
#pragma omp master
  size = omp_get_num_threads();
#endif
  return size;
}

// Calls body(begin, end, thread) with equal contiguous shares of [0, count), one per thread. The shares
// depend on the thread count alone, so results are the same in every run. `grain` is the least worth a thread
// of its own.
template <typename Body>
void parallel_chunks(std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t threads =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, thread_count());
  if (threads == 1) {
    body(std::int64_t{0}, count, 0);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
  for (std::int64_t t = 0; t < threads; ++t)
    body(count * t / threads, count * (t + 1) / threads, static_cast<int>(t));
}

// Calls body(item, thread) for each item of [0, count) on whichever thread is free, for items of unequal
// work. REQUIRES: the result of an item does not depend on the thread.
template <typename Body>
void parallel_items(std::int64_t count, const Body& body) {
  const std::int64_t threads = std::clamp<std::int64_t>(count, 1, thread_count());
  if (threads == 1) {
    for (std::int64_t item = 0; item < count; ++item) body(item, 0);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(threads))
  for (std::int64_t item = 0; item < count; ++item) body(item, omp_get_thread_num());
#endif
}

}  // namespace trainyard
