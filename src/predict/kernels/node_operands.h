#pragma once

#include <string>
#include <unordered_map>

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// A node of a training step by what it reads and writes, on which the working space of its kernel depends:
// libraries copy operands into other layouts, pad channels, transform tiles.
struct NodeOperands {
  double src_bytes = 0, dst_bytes = 0, weight_bytes = 0;
  // Where it stands among others of its op. Two that are one apart have little in common.
  ShapePlace place{};

  double bytes() const { return src_bytes + dst_bytes + weight_bytes; }
};

// Of all nodes of a graph with a training step, by name, and of updates that gradients may join.
using OperandsByName = std::unordered_map<std::string, NodeOperands>;
OperandsByName operands_by_name(const graph::Graph& graph, backend::Precision precision);

}  // namespace trainyard::predict
