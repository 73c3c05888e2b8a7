#pragma once

#include "backend/backend.h"
#include "plan/step_plan.h"
#include "predict/analytic/predictor.h"
#include "predict/kernels/kernel_times.h"

namespace trainyard::predict {

// StandInKernels answers for kernels that this machine does not have. Nodes are those of the plan, after
// fusion.
struct StandInKernels {
  std::function<bool(const graph::NodeView&)> takes;  // a fused node; unfused ones are always taken
  std::function<double(const graph::NodeView&)> workspace_bytes;
};

// Plans as the backend of a GPU does, without the GPU: images lie channels last, small steps share no memory,
// and outputs that the CUDA kernels write in place are written in place. `memory_bytes` are free; 0: not
// known.
std::unique_ptr<backend::Backend> make_gpu_stand_in(StandInKernels kernels, double memory_bytes);

// Planner describes how the steps of a device's runs are planned.
struct Planner {
  std::string backend;  // as records name it
  int threads = 0;      // of the host's kernels, whose workspace may grow with them; 0: as many as here
  KernelHabits habits;  // of kernels that are not here

  bool on_host() const { return backend != "cuda"; }
};

// PlannedStep is the memory of a step by its plan, and the other counts on which memory depends.
struct PlannedStep {
  MemoryNeed need;
  double ops = 0;          // that are different
  double shapes = 0;       // of nodes that are different
  double convolution = 0;  // 1: there is one
  double kernels = 0;      // of each step
};

// Runs the engine's own planner: with the host's backend for runs on the host, else with a stand-in for the
// GPU's. The stand-in's workspace comes from habits.
PlannedStep plan_step(const JobDescription& job, const Planner& planner);

// Plans with all possible fusions, and no workspace.
plan::StepPlan plan_all_fused(const graph::Graph& graph, backend::Precision precision);

}  // namespace trainyard::predict
