#pragma once

#include <string>

#include "plan/step_plan.h"
#include "predict/analytic/predictor.h"
#include "predict/kernels/kernel_habits.h"

namespace trainyard::predict {

// Who plans the steps of a device's runs.
struct Planner {
  std::string backend;  // as records name it
  int threads = 0;      // of the host's kernels, whose working space may grow with them; 0: as many as here
  KernelHabits habits;  // of kernels that are not here

  bool on_host() const { return backend != "cuda"; }
};

// A step as its plan has it in memory, and what else of it memory depends on.
struct PlannedStep {
  MemoryNeed need;
  double ops = 0;          // that are different
  double shapes = 0;       // of nodes that are different
  double convolution = 0;  // 1: there is one
  double kernels = 0;      // of each step
};

// The engine's own planner does it: with the host's backend, where the runs are the host's, else with one
// that stands in for the GPU's. Working space of the latter is by habit.
PlannedStep plan_step(const JobDescription& job, const Planner& planner);

// With all that can be fused, and no working space.
plan::StepPlan plan_all_fused(const graph::Graph& graph, backend::Precision precision);

}  // namespace trainyard::predict
