#pragma once

#include <string>
#include <vector>

#include "trainyard/network.h"
#include "trainyard/settings.h"

namespace trainyard {

struct MeasureSettings {
  RunSettings run;
  bool training = true;  // false: the forward pass alone
  std::int64_t warmup_steps = 5, steps = 50;
};

// Times of the steps after the warm-up that was asked for; the statistics also leave out a warm-up that the
// series itself shows.
struct Measurement {
  std::vector<double> step_seconds;
  double mean_seconds = 0, median_seconds = 0, min_seconds = 0, p95_seconds = 0;
  double mean_low = 0, mean_high = 0;  // the 95 % interval of the mean
  double images_per_second = 0;        // by the mean

  StepCost cost;                  // of one step
  double flops_per_second = 0;    // by the mean
  std::int64_t plan_bytes = 0;    // memory of all that a step reads and writes
  std::int64_t peak_bytes = 0;    // the most that the process has had of the host's memory, until now
  std::int64_t device_bytes = 0;  // of a GPU's memory; 0 on the CPU
  std::string backend;            // that ran it
  int threads = 0;
  std::vector<std::string> warnings;  // what disturbed the steps
};

// Times steps of the network on random input. One call at a time in a process.
Measurement measure_network(const Network& network, const MeasureSettings& settings = {});

}  // namespace trainyard
