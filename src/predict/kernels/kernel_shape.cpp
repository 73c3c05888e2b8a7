#include "predict/kernels/kernel_shape.h"

#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/pool.h"
#include "ops/sequence/recurrent.h"
#include "ops/update.h"

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
    if (const auto at = all.find(step.names[n]); at != all.end()) at->second.place = step.shapes[n].place;
  for (const graph::Node& node : graph.nodes())
    if (node.op == &ops::dense_d_weight_op) all[node.name + kUpdateSuffix] = all[node.name];
  return all;
}

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;

// LayerSizes describes a layer, the same for all of its kernels: `outputs` channels at each position, from
// `inputs` channels.
struct LayerSizes {
  double batch = 1, area = 1;  // positions of one sample
  double outputs = 1, inputs = 1, window = 1, groups = 1;
  double side = 1;  // rows of one sample
  bool strided = false, oblong = false;
  bool pooled = false;  // a maximum over small windows follows, which the same kernel may take
  double bytes = 0;     // of what is no product
};

constexpr double kFewChannels = 4;  // of images, for which there are kernels of their own

double doublings(double value) { return std::log2(std::max(value, 1.0)); }

// Rates how badly kernels can group channels: many fall back to single ones where the number is no multiple
// of four, and the fastest need large powers of two.
double awkwardness(double channels) {
  const auto number = static_cast<std::int64_t>(channels);
  return number % 64 == 0   ? 0
         : number % 32 == 0 ? 0.125
         : number % 16 == 0 ? 0.25
         : number % 8 == 0  ? 0.9
         : number % 4 == 0  ? 1.55
                            : 3.5;
}

double awkward_side(double side) {
  const auto number = static_cast<std::int64_t>(side);
  return number % 16 == 0 ? 0 : number % 4 == 0 ? 0.05 : number % 2 == 0 ? 0.15 : 0.25;
}

// Each coordinate is divided by the distance at which kernels have little in common: doublings of a size, or
// a yes against a no. These distances predict convolutions of generated networks best from others
// (docs/prediction.md).
ShapePlace place_of(const LayerSizes& layer) {
  const bool few = layer.inputs <= kFewChannels;
  return {doublings(layer.batch * layer.area) / 2.5,
          doublings(layer.outputs) / 1.8,
          doublings(layer.inputs) / 2.2,
          doublings(layer.window) / 1.25,
          layer.strided ? 1.0 : 0.0,
          layer.groups > 1 ? 1.4 + doublings(layer.groups) / 6 : 0.0,
          layer.oblong ? 0.7 : 0.0,
          awkwardness(layer.outputs),
          awkwardness(layer.inputs),
          doublings(layer.batch) / 10,
          doublings(layer.area) / 12,
          awkward_side(layer.side),
          few ? 0.6 : 0.0,
          few && layer.pooled ? 2.0 : 0.0,
          doublings(layer.bytes) / 2.5};
}

double number(std::int64_t value) { return static_cast<double>(value); }

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
    layer.batch = number(view.input_shape(0)[0]);
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

StepShapes step_shapes(const Graph& graph, backend::Precision precision) {
  Readers readers(graph.values().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const graph::ValueId id : graph.nodes()[n].inputs)
      readers[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(n));
  StepShapes step;
  for (const Node& node : graph.nodes()) {
    if (node.op == &ops::update_op) {
      add_update(graph, node, step);
      continue;
    }
    const NodeView view(graph, node);
    const graph::Cost cost = node.op->cost(view);
    const double width = precision == backend::Precision::bf16 ? 0.5 : 1;
    KernelShape shape{.op = node.op->name, .bytes = number(cost.bytes_moved) * width};
    LayerSizes layer;
    const bool product = take_product(view, layer);
    if (product) {
      shape.flops = number(cost.flops);
      describe_product(node, layer, shape);
      layer.pooled = is_pooled(graph, view, readers);
    } else {
      take_other(view, shape.bytes, layer);
    }
    shape.kind = product ? shape.op : context_of(graph, view, readers);
    shape.place = place_of(layer);
    step.names.push_back(node.name);
    step.shapes.push_back(std::move(shape));
  }
  return step;
}

}  // namespace trainyard::predict
