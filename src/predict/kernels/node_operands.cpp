#include "predict/kernels/node_operands.h"

#include <algorithm>
#include <cmath>

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
  const ops::Conv2dAttrs* conv = nullptr;  // null: dense
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
  if (op == &ops::conv2d_op) layer.conv = &view.attrs<ops::Conv2dAttrs>();
  if (op == &ops::conv2d_d_src_op || op == &ops::conv2d_d_weight_op)
    layer.conv = &view.attrs<ops::Conv2dGradAttrs>().conv;
  return true;
}

double doublings_of(double value) { return std::log2(std::max(value, 1.0)); }
double number_of(std::int64_t value) { return static_cast<double>(value); }

// Divided by how far apart kernels have little in common: doublings of a size, a yes from a no.
ShapePlace place_of_layer(const LayerTypes& layer) {
  const Shape &src = layer.src->shape, &dst = layer.dst->shape;
  const double outputs = number_of(dst[1]),
               inputs = number_of(src.rank() > 2 ? src[1] : src.elements_from(1));
  const auto misaligned = [](double channels) { return std::fmod(channels, 8) != 0 ? 2.0 : 0.0; };
  ShapePlace place{doublings_of(number_of(dst[0])) / 4,
                   dst.rank() > 2 ? doublings_of(number_of(dst.elements_from(2))) / 3 : 0,
                   doublings_of(outputs) / 2,
                   doublings_of(inputs) / 2,
                   0,
                   0,
                   0,
                   0,
                   misaligned(outputs),
                   misaligned(inputs),
                   inputs <= 4 ? 2.0 : 0.0};
  if (layer.conv == nullptr) return place;
  const ops::Window2d& window = layer.conv->window;
  place[4] = doublings_of(number_of(window.area())) / 1.2;
  place[5] = window.stride_h * window.stride_w > 1 ? 1.5 : 0;
  place[6] = layer.conv->groups > 1 ? 2 + doublings_of(number_of(layer.conv->groups)) / 4 : 0;
  place[7] = window.kernel_h != window.kernel_w ? 1 : 0;
  return place;
}

NodeOperands operands_of(const NodeView& view, double width) {
  NodeOperands made;
  const auto bytes = [&](const TensorType& type) { return width * number_of(type.bytes()); };
  if (LayerTypes layer{}; find_layer(view, layer)) {
    made = {bytes(*layer.src), bytes(*layer.dst), bytes(*layer.weight), place_of_layer(layer)};
    return made;
  }
  for (int i = 0; i < view.inputs(); ++i) made.src_bytes += bytes(view.input(i).type);
  for (int o = 0; o < view.outputs(); ++o) made.dst_bytes += bytes(view.output(o).type);
  const Shape& shape = view.inputs() > 0 ? view.input_shape(0) : view.output_shape(0);
  if (shape.rank() > 0) made.place[0] = doublings_of(number_of(shape[0])) / 4;
  if (shape.rank() > 1) made.place[2] = doublings_of(number_of(shape[1])) / 2;
  made.place[11] = doublings_of(made.bytes()) / 2.5;
  return made;
}

}  // namespace

OperandsByName operands_by_name(const graph::Graph& graph, backend::Precision precision) {
  const double width = precision == backend::Precision::bf16 ? 0.5 : 1;
  OperandsByName all;
  for (const graph::Node& node : graph.nodes()) {
    const NodeOperands& made = all[node.name] = operands_of({graph, node}, width);
    if (node.op == &ops::dense_d_weight_op) all[node.name + kUpdateSuffix] = made;
  }
  return all;
}

}  // namespace trainyard::predict
