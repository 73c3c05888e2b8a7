#pragma once

#include "backend/backend.h"
#include "plan/compile.h"
#include "plan/step_plan.h"

// The passes of compile(), in order; each stands in the file of its name.
namespace trainyard::plan {

// precision.cpp: activations, their gradients and what is multiplied with them become bf16.
graph::Graph lower_to_bf16(const graph::Graph& graph);

// fuse.cpp: rewrites node patterns into one node; appends to `notes` what it did, or why not. Fusions that
// only some kernels can do are asked of the backend.
graph::Graph fuse(const graph::Graph& graph, const backend::Backend& backend,
                  std::vector<std::string>& notes);

// fuse_chains.cpp: small dense layers of one width that follow each other become one node, and so do their
// gradients; `notes` as above.
graph::Graph fuse_chains(const graph::Graph& graph, const backend::Backend& backend,
                         std::vector<std::string>& notes);

// fuse_updates.cpp: gradients that only the update reads are made where they are used; `notes` as above.
graph::Graph fuse_updates(const graph::Graph& graph, const backend::Backend& backend,
                          std::vector<std::string>& notes);

// declined.cpp: why no kernel of the backend, short of its plain loops, takes the node; empty: one does.
std::string declined(const graph::Graph& graph, const graph::Node& node, const backend::Backend& backend);

// order.cpp: drops nodes whose results nobody needs; keeps the given order.
graph::Graph live_nodes(const graph::Graph& graph);

// split_update.cpp: parts of the update that run as soon as nobody needs their parameters any more, beside
// what is left of the backward pass.
graph::Graph split_update(const graph::Graph& graph);

// layout.cpp: picks the first accepting candidate of each node, or the fastest where the backend measures,
// and inserts reorders where layouts differ. REQUIRES: step.graph is set.
void choose_kernels(CompiledStep& step, const backend::Backend& backend, const CompileOptions& options);

// early_gradients.cpp: what finishes a gradient follows at once what it needs, not the whole backward pass.
// REQUIRES: chosen kernels, no placed buffers.
void finish_gradients_early(CompiledStep& step);

// lanes.cpp: steps that touch no memory of each other go to different lanes, and some may run on beside the
// next training step. REQUIRES: placed buffers.
void assign_lanes(CompiledStep& step, int lanes);

// memory.cpp: gives every buffer its region and offset.
// With `share`, buffers whose lifetimes do not meet may lie in the same place.
void place_buffers(CompiledStep& step, bool share = true);

}  // namespace trainyard::plan
