#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace trainyard::conformance {

// One tensor for each value of a graph, in plain layout; empty where a value was not made yet.
using Values = std::vector<HostTensor>;

struct RunOptions {
  backend::StepContext context{.seed = 1, .step = 0};
  // Says how images (inputs and intermediates of four dimensions) lie between nodes; none: as their kernel
  // left them.
  std::optional<Layout> images = Layout{};
  // Outputs lie in the memory of an input wherever the kernel allows it.
  bool in_place = false;
  // All first values are numbers that bf16 holds: multiplied in lower precision they lose nothing.
  bool rounded_start = false;
  // Taken instead of the first of its op, where it accepts.
  const backend::Candidate* prefer = nullptr;
};

struct RunResult {
  Values values;  // states as the run left them
  std::set<const backend::Candidate*> used;
  std::vector<std::string> declines;    // "NODE: CANDIDATE declines: REASON"
  std::vector<std::string> violations;  // of the contract between planner and kernels
};

// Returns the backend of this host's own kernels, where the build has it, and else the reference.
const backend::Backend& fast_backend();

// Inputs, parameters and state by their initializers.
Values first_values(const graph::Graph& graph, std::uint64_t seed);

// Runs node by node, without a planner, every value in a buffer of its own that starts as NaN. `start` holds
// all values that no node makes.
RunResult run_graph(const graph::Graph& graph, const backend::Backend& backend, const Values& start,
                    const RunOptions& options = {});

// Several steps from first_values(), each on the state the one before left; the result is that of the last.
RunResult run_steps(const graph::Graph& graph, const backend::Backend& backend, RunOptions options,
                    int steps);

}  // namespace trainyard::conformance
