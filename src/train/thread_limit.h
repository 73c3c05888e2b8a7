#pragma once

#include <span>
#include <vector>

namespace trainyard::train {

// The cores for so many threads, physical ones first; 0 means every core this process may use. Error (usage)
// when there are fewer.
std::vector<int> cores_for(int threads);

// One thread per core for the calling thread and the pool that our kernels and oneDNN share; they, and all
// threads they start, run nowhere else. Returns the number of threads. Error (config) when the environment
// keeps the pool smaller.
int limit_to(std::span<const int> cores);

// Both at once.
int limit_threads(int threads);

}  // namespace trainyard::train
