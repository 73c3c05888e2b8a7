#pragma once

#include "backend/device.h"
#include "graph/graph.h"
#include "plan/step_plan.h"
#include "train/session.h"

namespace trainyard::train {

// Both throw an Error of kind unsupported, "needs X, this machine has Y", when a step cannot fit into what
// memory is free now: on the host that the process may still take, on another device that nobody holds.

// Before anything is planned: what no plan can do without, which are the state and the inputs.
void check_memory(const SessionOptions& options, const graph::Graph& graph, const backend::Device& device);

// Before anything is allocated: all that the plan takes.
void check_memory(const SessionOptions& options, const plan::StepPlan& plan, const backend::Device& device);

}  // namespace trainyard::train
