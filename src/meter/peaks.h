#pragma once

#include "base/standard.h"

namespace trainyard::meter {

// Each function runs for about `seconds` on all threads and returns the best of its repeats.

// Measures multiply-adds on registers only: the peak of the arithmetic units.
double f32_fma_flops_per_second(double seconds);
double f64_fma_flops_per_second(double seconds);

// Measures the time from the start of empty work on all threads to the end of the last of them: the least
// time that a kernel takes.
double launch_seconds(double seconds);

// Measures the time from a write by one thread to the moment at which the next thread sees it, which shows
// how far apart the threads' cores are. It takes up to six times as long where other processes delay the
// threads. Returns 0 where they do so all the time, and where there is one thread.
double handoff_seconds(double seconds);

// CoreDistance holds that time right before and right after the steps of a run; 0: nobody measured it. A
// hypervisor moves the cores of a virtual machine, so they share a cache for a while and then do not.
struct CoreDistance {
  double before = 0, after = 0;
};
inline constexpr double kDistanceSeconds = 0.01;  // that each of the two takes

// Copies arrays far larger than the caches, and counts bytes read plus bytes written.
double copy_bytes_per_second(double seconds);
double triad_bytes_per_second(double seconds);
double read_bytes_per_second(double seconds);

// Reads an array of so many bytes over and over; small ones stay in the caches. Each thread has its part of
// it.
double read_bytes_per_second(double seconds, std::int64_t bytes);

}  // namespace trainyard::meter
