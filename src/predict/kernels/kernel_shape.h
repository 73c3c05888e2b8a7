#pragma once

#include <unordered_map>

#include "backend/kernel.h"
#include "graph/graph.h"

namespace trainyard::predict {

inline constexpr std::size_t kShapeDimensions = 16;
// ShapePlace locates a kernel among others of its kind. Two at distance one have little in common.
using ShapePlace = std::array<double, kShapeDimensions>;
inline constexpr std::size_t kGroupDimension = 5;  // of convolutions in groups above 0
inline constexpr std::size_t kStepDimension =
    15;  // what a step touches beside the kernel: caches keep the rest

// NodeOperands describes a node of a training step by the bytes that it reads and writes. The workspace of
// its kernel depends on them: libraries copy operands into other layouts, pad channels, transform tiles.
struct NodeOperands {
  double src_bytes = 0, dst_bytes = 0, weight_bytes = 0;
  // Place among other nodes of its op. Two at distance one have little in common.
  ShapePlace place{};

  double bytes() const { return src_bytes + dst_bytes + weight_bytes; }
};

// OperandsByName covers all nodes of a graph with a training step, by name, and the updates that gradients
// may join.
using OperandsByName = std::unordered_map<std::string, NodeOperands>;
OperandsByName operands_by_name(const graph::Graph& graph, backend::Precision precision);

// KernelShape describes a node of a training step, as far as the time of its kernel depends on it.
struct KernelShape {
  std::string kind;  // the op, and of what may join its neighbours theirs: "add<batch_norm>activation"
  std::string op;    // the op alone
  // Products have rows x columns results for each group, each a sum over `inner`.
  double flops = 0, rows = 1, columns = 1, inner = 1;
  double bytes = 0;  // each input read once, each output written once
  ShapePlace place{};
};

// This suffix to the name of a dense layer's gradient names the update of its weight.
inline constexpr const char* kUpdateSuffix = "/update";

// StepShapes covers all nodes of a graph with a training step, in its order; `names` are the nodes' names.
struct StepShapes {
  std::vector<std::string> names;
  std::vector<KernelShape> shapes;
};
StepShapes step_shapes(const graph::Graph& graph, backend::Precision precision);

}  // namespace trainyard::predict
