#pragma once

#include "graph/op_def.h"
#include "ops/device_attrs.h"

namespace trainyard::ops {

const char* name(SmoothKind kind);

struct SmoothUnitAttrs {
  SmoothKind kind = SmoothKind::gelu;
  bool gated = false;        // src holds two halves (a, b) of each row, and dst is f(a) * b
  bool column_sums = false;  // set by the fusion pass on gradients: also sum the columns of d_src
};

// src (R, F), or gated (R, 2F) -> dst (R, F). Unlike an activation its derivative follows from the input,
// which the backward pass keeps.
extern const graph::OpDef smooth_unit_op;
extern const graph::OpDef smooth_unit_grad_op;  // (d_dst, src) -> d_src [, column_sums (F)]

graph::ValueId smooth_unit(graph::Graph& graph, const std::string& name, graph::ValueId src,
                           const SmoothUnitAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> smooth_unit_ops();

}  // namespace trainyard::ops
