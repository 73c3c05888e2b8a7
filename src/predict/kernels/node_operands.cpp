#include "predict/kernels/node_operands.h"

#include "graph/op_def.h"
#include "ops/conv2d.h"
#include "ops/dense.h"

namespace trainyard::predict {
namespace {

using graph::NodeView;
using graph::TensorType;

// A layer's operands, whichever of its kernels is meant.
struct LayerTypes {
  const TensorType *src, *weight, *dst;
};

bool find_layer(const NodeView& view, LayerTypes& layer) {
  const graph::OpDef* op = view.node().op;
  const auto input = [&](int i) { return &view.input(i).type; };
  if (op == &ops::conv2d_op || op == &ops::dense_op)
    layer = {input(0), input(1), &view.output(0).type};
  else if (op == &ops::conv2d_d_src_op || op == &ops::dense_d_src_op)
    layer = {&view.output(0).type, input(1), input(0)};
  else if (op == &ops::conv2d_d_weight_op || op == &ops::dense_d_weight_op)
    layer = {input(1), &view.output(0).type, input(0)};
  else
    return false;
  return true;
}

NodeOperands operands_of(const NodeView& view, double width) {
  const auto bytes = [&](const TensorType& type) { return width * static_cast<double>(type.bytes()); };
  if (LayerTypes layer{}; find_layer(view, layer))
    return {bytes(*layer.src), bytes(*layer.dst), bytes(*layer.weight), {}};
  NodeOperands made;
  for (int i = 0; i < view.inputs(); ++i) made.src_bytes += bytes(view.input(i).type);
  for (int o = 0; o < view.outputs(); ++o) made.dst_bytes += bytes(view.output(o).type);
  return made;
}

}  // namespace

OperandsByName operands_by_name(const graph::Graph& graph, backend::Precision precision) {
  const double width = precision == backend::Precision::bf16 ? 0.5 : 1;
  OperandsByName all;
  for (const graph::Node& node : graph.nodes()) all[node.name] = operands_of({graph, node}, width);
  const StepShapes step = step_shapes(graph, precision);
  for (std::size_t n = 0; n < step.names.size(); ++n)
    if (const auto at = all.find(step.names[n]); at != all.end()) at->second.place = step.shapes[n].place;
  for (const graph::Node& node : graph.nodes())
    if (node.op == &ops::dense_d_weight_op) all[node.name + kUpdateSuffix] = all[node.name];
  return all;
}

}  // namespace trainyard::predict
