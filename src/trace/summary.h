#pragma once

#include "trace/trace.h"

namespace trainyard::trace {

// Divides the time of a step, or of all steps. Every moment is in exactly one category.
struct TimeShares {
  double seconds = 0;  // of wall-clock
  // gemm, conv, rnn, elementwise, norm, pool, loss, optimizer, copy, communication, wait, idle
  std::map<std::string, double> by_category;
  // Time in which no kernel ran, by what it was for: input, copy, communication, host (launches and all else
  // that the host does between kernels).
  std::map<std::string, double> idle_causes;

  double category(const std::string& name) const;
  double idle_cause(const std::string& name) const;
  double infeed_share() const;  // waiting for input and copying it
  void add(const TimeShares& other);
};

struct StepTime {
  std::string name;
  TimeShares time;
};

struct OpTime {
  std::string name, category;
  std::int64_t count = 0;  // in all steps
  double seconds = 0;      // while nothing else of its device had the moment
  std::int64_t flops = 0, bytes = 0;
};

// With several devices, the times of a step are means over the devices that had it; ops are sums over all
// devices.
struct Summary {
  int devices = 0;
  std::vector<StepTime> steps;             // in order; one "all" where the trace tells of no steps
  TimeShares all;                          // sum over the steps
  std::vector<OpTime> ops;                 // the longest first; sum over steps and devices
  std::vector<double> plain_step_seconds;  // of steps that were not traced, in our files

  // Returns the median traced step over median plain one, less 1. 0: nothing to compare with.
  double overhead() const;
};

// Error (config) when nothing computes in it.
Summary summarise(const Trace& trace);
// Does the same; errors name the file.
Summary summarise(const Trace& trace, const std::string& file);

}  // namespace trainyard::trace
