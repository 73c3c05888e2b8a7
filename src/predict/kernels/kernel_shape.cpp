#include "predict/kernels/kernel_shape.h"

#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/pool.h"
#include "ops/sequence/recurrent.h"
#include "ops/update.h"
#include "predict/kernels/layer_sizes.h"

namespace trainyard::predict {

namespace {

using graph::NodeView;
using graph::TensorType;

// LayerTypes holds the operands of a layer, the same for all of its kernels.
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
    if (const auto at = all.find(step.names[n]); at != all.end()) {
      at->second.place = step.shapes[n].place;
      at->second.place[kStepDimension] = 0;  // no kernel needs more workspace for what is beside it
    }
  for (const graph::Node& node : graph.nodes())
    if (node.op == &ops::dense_d_weight_op) all[node.name + kUpdateSuffix] = all[node.name];
  return all;
}

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;

void take_window(const ops::Window2d& window, LayerSizes& layer) {
  layer.window = number(window.area());
  layer.strided = window.stride_h * window.stride_w > 1;
  layer.oblong = window.kernel_h != window.kernel_w;
}

// `dst` and `channels` of src are those of the convolution, for its gradients too.
void take_convolution(const ops::Conv2dAttrs& attrs, const Shape& dst, std::int64_t channels,
                      LayerSizes& layer) {
  take_window(attrs.window, layer);
  layer.groups = number(attrs.groups);
  layer.batch = number(dst[0]);
  layer.outputs = number(dst[1]);
  layer.area = number(dst.elements_from(2));
  layer.side = number(dst[2]);
  layer.inputs = number(channels);
}

bool take_product(const NodeView& view, LayerSizes& layer) {
  const graph::OpDef* op = view.node().op;
  if (op == &ops::conv2d_op) {
    take_convolution(view.attrs<ops::Conv2dAttrs>(), view.output_shape(0), view.input_shape(0)[1], layer);
  } else if (op == &ops::conv2d_d_src_op) {
    take_convolution(view.attrs<ops::Conv2dGradAttrs>().conv, view.input_shape(0), view.output_shape(0)[1],
                     layer);
  } else if (op == &ops::conv2d_d_weight_op) {
    take_convolution(view.attrs<ops::Conv2dGradAttrs>().conv, view.input_shape(0), view.input_shape(1)[1],
                     layer);
  } else if (op == &ops::dense_op || op == &ops::dense_d_src_op || op == &ops::dense_d_weight_op) {
    const Shape& weight = op == &ops::dense_d_weight_op ? view.output_shape(0) : view.input_shape(1);
    layer.batch = layer.side = number(view.input_shape(0)[0]);
    layer.outputs = number(weight[0]);
    layer.inputs = number(weight.elements_from(1));
  } else if (op == &ops::recurrent_op || op == &ops::recurrent_grad_op) {
    const bool forward = op == &ops::recurrent_op;
    const Shape &src = view.input_shape(forward ? 0 : 1), &weight = view.input_shape(forward ? 1 : 2),
                &recurrent = view.input_shape(forward ? 2 : 3);
    layer.batch = number(src[1]);
    layer.area = number(src[0]);
    layer.inputs = number(weight[1]);
    layer.outputs = number(recurrent[1]);
    layer.window = number(weight[0] / recurrent[1]);  // gates, which tell cells apart
  } else {
    return false;
  }
  return true;
}

using Readers = std::vector<std::vector<NodeId>>;  // of each value

// Tells whether a maximum over windows follows the convolution, behind its activation, or comes before its
// gradient.
bool is_pooled(const Graph& graph, const NodeView& view, const Readers& readers) {
  const graph::OpDef* op = view.node().op;
  if (op == &ops::conv2d_op) {
    const auto reads = [&](const Node& node, const graph::OpDef* wanted) -> const Node* {
      for (const NodeId id : readers[static_cast<std::size_t>(node.outputs[0])])
        if (graph.node(id).op == wanted) return &graph.node(id);
      return nullptr;
    };
    const Node* activation = reads(view.node(), &ops::activation_op);
    return reads(activation != nullptr ? *activation : view.node(), &ops::max_pool_op) != nullptr;
  }
  if (op != &ops::conv2d_d_src_op && op != &ops::conv2d_d_weight_op) return false;
  const auto maker = [&](const Node& node) -> const Node* {
    const NodeId producer = graph.value(node.inputs[0]).producer;
    return producer == graph::kNone ? nullptr : &graph.node(producer);
  };
  const Node* made = maker(view.node());
  if (made != nullptr && made->op == &ops::activation_grad_op) made = maker(*made);
  return made != nullptr && made->op == &ops::max_pool_d_src_op;
}

// Describes the layer as the equivalent product of matrices.
void describe_product(const Node& node, const LayerSizes& layer, KernelShape& shape) {
  const double positions = layer.batch * layer.area, outputs = layer.outputs / layer.groups,
               inputs = layer.inputs / layer.groups * layer.window;
  const bool of_weight = node.op == &ops::conv2d_d_weight_op || node.op == &ops::dense_d_weight_op,
             of_src = node.op == &ops::conv2d_d_src_op || node.op == &ops::dense_d_src_op;
  shape.rows = of_weight ? outputs : positions;
  shape.columns = of_weight ? inputs : of_src ? layer.inputs / layer.groups : outputs;
  shape.inner = of_weight ? positions : of_src ? outputs * layer.window : inputs;
}

void take_other(const NodeView& view, double bytes, LayerSizes& layer) {
  const graph::OpDef* op = view.node().op;
  if (op == &ops::max_pool_op) take_window(view.attrs<ops::MaxPoolAttrs>().window, layer);
  if (op == &ops::max_pool_d_src_op) take_window(view.attrs<ops::MaxPoolGradAttrs>().window, layer);
  const Shape& shape = view.inputs() > 0 ? view.input_shape(0) : view.output_shape(0);
  if (shape.rank() > 1) {
    layer.batch = number(shape[0]);
    layer.outputs = number(shape[1]);
    if (shape.rank() > 2) layer.area = number(shape.elements_from(2));
  }
  layer.bytes = bytes;
}

// Returns the op and, for an activation, its kind: a device's kernels may fuse some and not others.
std::string op_of(const Graph& graph, const Node& node) {
  std::string op = node.op->name;
  if (node.op == &ops::activation_op || node.op == &ops::activation_grad_op)
    op += fmt::format(":{}", ops::name(NodeView(graph, node).attrs<ops::ActivationAttrs>().kind));
  return op;
}

// Names the producer of the first input and the only reader of the first output, because a neighbour may do
// this node's work.
std::string context_of(const Graph& graph, const NodeView& view, const Readers& readers) {
  std::string kind = op_of(graph, view.node());
  kind += '<';
  if (view.inputs() > 0)
    if (const NodeId producer = view.input(0).producer; producer != graph::kNone)
      kind += op_of(graph, graph.node(producer));
  kind += '>';
  if (view.outputs() > 0) {
    const auto& who = readers[static_cast<std::size_t>(view.node().outputs[0])];
    kind += who.empty() ? "" : who.size() > 1 ? "many" : op_of(graph, graph.node(who[0]));
  }
  return kind;
}

// Counts a separate update of a parameter: it reads and writes the parameter and its optimizer state, and
// reads its gradient.
double update_bytes(double elements, double slots) { return elements * 4 * (3 + 2 * slots); }

// A dense layer may update its weight in the kernel of the gradient, so each such weight stands apart from
// the rest.
void add_update(const Graph& graph, const Node& update, StepShapes& step) {
  double all = 0, states = 0, dense = 0;
  for (const graph::Value& value : graph.values()) {
    if (value.role == graph::Role::parameter) all += number(value.type.shape.elements());
    if (value.role == graph::Role::optimizer_state) states += number(value.type.shape.elements());
  }
  const double slots = all > 0 ? states / all : 0;
  for (const Node& node : graph.nodes()) {
    if (node.op != &ops::dense_d_weight_op) continue;
    const NodeView view(graph, node);
    const double elements = number(view.output_shape(0).elements());
    dense += elements;
    LayerSizes layer;
    take_product(view, layer);
    layer.bytes = update_bytes(elements, slots);
    step.names.push_back(node.name + kUpdateSuffix);
    step.shapes.push_back(
        {.kind = "dense_update", .op = "dense_update", .bytes = layer.bytes, .place = place_of(layer)});
  }
  const LayerSizes rest{.bytes = update_bytes(all - dense, slots)};
  step.names.push_back(update.name);
  step.shapes.push_back(
      {.kind = update.op->name, .op = update.op->name, .bytes = rest.bytes, .place = place_of(rest)});
}

}  // namespace

namespace {

// Returns where a step lies between one that caches hold and one that they do not: what is read again after a
// whole step, as weights and their gradients are, comes from a cache or from memory.
double place_of_step_bytes(const Graph& graph, double width) {
  constexpr double kHeld = 4e6, kBeyond = 256e6, kScale = 2.5;
  double bytes = 0;
  for (const graph::Value& value : graph.values())
    bytes += value.role == graph::Role::parameter || value.role == graph::Role::optimizer_state
                 ? number(value.type.bytes())
                 : width * number(value.type.bytes());
  return doublings(std::clamp(bytes, kHeld, kBeyond) / kHeld) / kScale;
}

}  // namespace

StepShapes step_shapes(const Graph& graph, backend::Precision precision) {
  Readers readers(graph.values().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const graph::ValueId id : graph.nodes()[n].inputs)
      readers[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(n));
  const double width = precision == backend::Precision::bf16 ? 0.5 : 1;
  StepShapes step;
  std::set<std::string> on_sequences;  // ops
  for (const Node& node : graph.nodes()) {
    if (node.op == &ops::update_op) {
      add_update(graph, node, step);
      continue;
    }
    const NodeView view(graph, node);
    const graph::Cost cost = node.op->cost(view);
    KernelShape shape{.op = node.op->name, .bytes = number(cost.bytes_moved) * width};
    LayerSizes layer;
    if (take_product(view, layer)) {
      shape.flops = number(cost.flops);
      describe_product(node, layer, shape);
      layer.pooled = is_pooled(graph, view, readers);
      shape.place = place_of(layer);
    } else if (take_sequence_op(view, shape.bytes, shape)) {
      on_sequences.insert(shape.op);
    } else {
      take_other(view, shape.bytes, layer);
      shape.place = place_of(layer);
    }
    shape.kind = shape.flops > 0 ? shape.op : context_of(graph, view, readers);
    step.names.push_back(node.name);
    step.shapes.push_back(std::move(shape));
  }
  const double place = place_of_step_bytes(graph, width);
  for (KernelShape& shape : step.shapes)
    if (shape.op.starts_with("dense") || shape.op == ops::update_op.name || on_sequences.contains(shape.op))
      shape.place[kStepDimension] = place;
  return step;
}

}  // namespace trainyard::predict
