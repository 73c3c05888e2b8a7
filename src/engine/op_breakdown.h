#pragma once

#include "engine/executor.h"

namespace trainyard::engine {

// Sums up the kernels of one step that have a property in common.
struct OpShare {
  std::string name;  // of the op, or of the category
  graph::Category category = graph::Category::elementwise;
  double seconds = 0;
  graph::Cost cost;        // of all that ran
  graph::Cost recomputed;  // of these, what did again what had been dropped
  std::int64_t count = 0;  // kernels
};

// A KernelSeconds is one kernel of a step.
struct KernelSeconds {
  std::string name, op, kernel;  // as the plan has them
  double seconds = 0;
  std::int64_t workspace_bytes = 0;
};

// Breaks down the time of a step, the largest share first. Every list holds every kernel of the step once.
struct OpBreakdown {
  std::vector<OpShare> by_category, by_op;
  std::vector<KernelSeconds> kernels;  // in the order of the plan
  std::int64_t rounds = 0;             // of measuring
  double seconds = 0;                  // of all kernels
};

// Breaks down the seconds of a plan's kernels, one entry per step of the plan; kernels that do not run in
// every step are left out.
OpBreakdown break_down(const plan::StepPlan& plan, std::span<const double> kernel_seconds);

// Runs steps from `first` on, kernel by kernel. Each kernel's seconds are the median over them.
OpBreakdown measure_ops(Executor& executor, const backend::StepContext& first);

}  // namespace trainyard::engine
