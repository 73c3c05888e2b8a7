#pragma once

#include "backend/backend.h"
#include "plan/compile.h"
#include "plan/step_plan.h"

// The passes of compile(), in order; each comment begins with the file that holds the pass.
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

// fuse_streams.cpp: sums of a residual stream, of its gradients, and gradients of biases join the norms and
// units beside them; `notes` as above. Without `with_forward` the sums of the forward pass stay. Runs behind
// the passes that want d_weight with its bias.
graph::Graph fuse_streams(const graph::Graph& graph, const backend::Backend& backend, bool with_forward,
                          std::vector<std::string>& notes);

// compile.cpp: says why no kernel of the backend, except its plain loops, takes the node; empty when one
// does.
std::string declined(const graph::Graph& graph, const graph::Node& node, const backend::Backend& backend);

// compile.cpp: drops nodes whose results no node needs; keeps the given order.
graph::Graph live_nodes(const graph::Graph& graph);

// fuse_updates.cpp: splits the update into parts that run as soon as no node needs their parameters any more,
// beside the rest of the backward pass; an update that clips gradients stays whole.
graph::Graph split_update(const graph::Graph& graph);

// layout.cpp: picks the first accepting candidate of each node, or the fastest where the backend measures,
// and inserts reorders where layouts differ. REQUIRES: step.graph is set.
void choose_kernels(CompiledStep& step, const backend::Backend& backend, const CompileOptions& options);

// early_gradients.cpp: moves the steps that finish a gradient directly behind their inputs, before the rest
// of the backward pass. REQUIRES: chosen kernels, no placed buffers.
void finish_gradients_early(CompiledStep& step);

// lanes.cpp: steps that touch no memory of each other go to different lanes, and some may run on beside the
// next training step. REQUIRES: placed buffers.
void assign_lanes(CompiledStep& step, int lanes);

// memory.cpp: gives every buffer its region and offset.
// With `share`, buffers whose lifetimes do not meet may lie in the same place.
void place_buffers(CompiledStep& step, bool share = true);

}  // namespace trainyard::plan
