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

// From a write by one thread to the moment at which the next thread sees it: how far apart the cores are that
// the threads run on. Takes up to six times as long where others hold the threads up; 0 where they do so all
// the time, and where there is one thread.
double handoff_seconds(double seconds);

// The same right before and right after the steps of a run; 0: nobody measured it. A hypervisor moves the
// cores of a virtual machine: for a while they share a cache, then they do not.
struct CoreDistance {
  double before = 0, after = 0;
};
inline constexpr double kDistanceSeconds = 0.01;  // that each of the two takes

// Arrays far larger than the caches. Bytes read plus bytes written.
double copy_bytes_per_second(double seconds);
double triad_bytes_per_second(double seconds);
double read_bytes_per_second(double seconds);

// The same of an array of so many bytes, read over and over: small ones stay in the caches. Each thread has
// its part of it.
double read_bytes_per_second(double seconds, std::int64_t bytes);

}  // namespace trainyard::meter
