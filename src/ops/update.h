#pragma once

#include "graph/op_def.h"
#include "ops/device_attrs.h"

namespace trainyard::ops {

const char* name(Rule rule);
std::string to_string(const Schedule& schedule);

// Names of the state slots, for checkpoints: "momentum", "adam_m", ...
std::vector<std::string> slot_names(const UpdateAttrs& attrs);

// (p_0 .. p_n-1, g_0 .. g_n-1, slot 0 of each, slot 1 of each, ... [, copies]) -> nothing; changes parameters
// and slots.
extern const graph::OpDef update_op;

// So many micro-batches make one update.
struct AccumulateAttrs {
  int micro_batches = 1;
};

// (p_0 .. p_n-1, g_0 .. g_n-1, s_0 .. s_n-1) -> nothing; the step counts micro-batches. Adds g /
// micro_batches to the sum s, which the first micro-batch of an update begins anew. Sums and gradients lie as
// the parameters do, which are not read.
extern const graph::OpDef accumulate_op;

// Appends it; returns the sums, which are the gradients of an update then.
std::vector<graph::ValueId> accumulate(graph::Graph& graph, const std::string& name,
                                       const std::vector<graph::ValueId>& parameters,
                                       const std::vector<graph::ValueId>& gradients,
                                       const AccumulateAttrs& attrs);

int updated_parameters(const graph::NodeView& node);  // how many
std::int64_t flops_per_parameter(const UpdateAttrs& attrs);
// Returns whether the weight decay of the rule counts for a parameter of this shape.
bool decays(const UpdateAttrs& attrs, const Shape& shape);

// Returns the state that an update of `parameters` needs: slot 0 of each, slot 1 of each, ...
std::vector<graph::ValueId> add_slots(graph::Graph& graph, const std::vector<graph::ValueId>& parameters,
                                      const UpdateAttrs& attrs);

// Appends the update of `parameters` by `gradients` and creates the state it needs. Returns the shadow
// weights (one per parameter) when ema_decay > 0.
std::vector<graph::ValueId> update(graph::Graph& graph, const std::string& name,
                                   const std::vector<graph::ValueId>& parameters,
                                   const std::vector<graph::ValueId>& gradients, const UpdateAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> update_ops();

}  // namespace trainyard::ops
