#pragma once

#include <cstdint>

namespace trainyard {

// The calls of operator new, malloc and their kin since the program started. The caller's address tells calls
// from inside oneDNN apart (oneDNN makes an argument map in each of its executions).
struct MemoryCounts {
  std::int64_t own = 0;         // calls from our code, or from the standard library on its behalf
  std::int64_t library = 0;     // calls from inside oneDNN or the OpenMP runtime
  std::int64_t live_bytes = 0;  // of operator new, whoever called
};

// False under sanitizers, which bring allocation functions of their own.
bool memory_is_counted();

// Attribution costs a walk up the stack, so it happens only between these two.
void start_attribution();
MemoryCounts stop_attribution();

// Returns the origin of the first call counted as our own, for a failing test's message.
const char* first_own_caller();

}  // namespace trainyard
