#pragma once

#include "graph/op_def.h"
#include "ops/device_attrs.h"

namespace trainyard::ops {

const char* name(Rule rule);

// Names of the state slots, for checkpoints: "momentum", "adam_m", ...
std::vector<std::string> slot_names(const UpdateAttrs& attrs);

// (p_0 .. p_n-1, g_0 .. g_n-1, slot 0 of each, slot 1 of each, ... [, copies]) -> nothing; changes parameters
// and slots.
extern const graph::OpDef update_op;

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
