#pragma once

#include <cstdint>

namespace trainyard::meter {

// Each runs for about `seconds` on all threads and returns the best of its repeats.

// Multiply-adds on registers only: what the arithmetic units can do.
double f32_fma_flops_per_second(double seconds);
double f64_fma_flops_per_second(double seconds);

// From the start of work on all threads to the end of the last of them, where there is nothing to do: the
// least that a kernel takes.
double launch_seconds(double seconds);

// Arrays far larger than the caches. Bytes read plus bytes written.
double copy_bytes_per_second(double seconds);
double triad_bytes_per_second(double seconds);
double read_bytes_per_second(double seconds);

// The same of an array of so many bytes, read over and over: small ones stay in the caches. Each thread has
// its part of it.
double read_bytes_per_second(double seconds, std::int64_t bytes);

}  // namespace trainyard::meter
