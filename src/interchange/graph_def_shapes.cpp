#include "interchange/graph_def.h"
#include "interchange/text_format.h"

namespace trainyard::interchange::tensorflow {
namespace {

using Dims = std::vector<std::int64_t>;

struct Inference {
  const ExchangeGraph& graph;
  const std::vector<Node>& nodes;
  const Node& node;
  std::int64_t batch = 1;

  // Data inputs only; control edges come after them.
  std::size_t inputs() const {
    std::size_t count = 0;
    for (const OpInput& input : node.op->inputs) count += input.control ? 0 : 1;
    return count;
  }
  TensorSpec input(std::size_t i) const {
    if (i >= inputs()) return {};
    const OpInput& from = node.op->inputs[i];
    const auto& outputs = graph.nodes[static_cast<std::size_t>(from.node)].outputs;
    return static_cast<std::size_t>(from.output) < outputs.size()
               ? outputs[static_cast<std::size_t>(from.output)]
               : TensorSpec{};
  }
  // Returns the integers that a constant input holds; empty where it is none.
  Dims constant(std::size_t i) const {
    if (i >= inputs()) return {};
    const Node& from = nodes[static_cast<std::size_t>(node.op->inputs[i].node)];
    const Value* value = from.op->type == "Const" ? from.find("value") : nullptr;
    return value != nullptr ? value->integers : Dims{};
  }
  Dims integers(std::string_view name) const {
    const Value* value = node.find(name);
    return value != nullptr ? value->integers : Dims{};
  }
  bool channels_first() const { return node.text("data_format", "NHWC").starts_with("NC"); }
};

using Rule = TensorSpec (*)(const Inference&);

TensorSpec shaped(Dims dims) {
  for (std::int64_t& dim : dims)
    if (dim < 0 || dim > kMaxElements) dim = kUnknown;
  if (dims.size() > kMaxRank) return {};
  return {true, std::move(dims), ""};
}

TensorSpec like_first(const Inference& at) { return at.input(0); }
TensorSpec like_second(const Inference& at) { return at.input(1); }

TensorSpec attribute_shape(const Inference& at) {
  for (const char* name : {"shape", "value"})
    if (const Value* value = at.node.find(name); value != nullptr && !value->shapes.empty())
      return value->shapes[0];
  return {};
}

TensorSpec placeholder(const Inference& at) {
  TensorSpec shape = attribute_shape(at);
  if (shape.has_shape && !shape.dims.empty() && shape.dims[0] == kUnknown) shape.dims[0] = at.batch;
  return shape;
}

TensorSpec broadcast(const Inference& at) {
  TensorSpec a = at.input(0), b = at.input(1);
  if (!a.has_shape || !b.has_shape) return {};
  if (a.dims.size() < b.dims.size()) std::swap(a, b);
  const std::size_t shift = a.dims.size() - b.dims.size();
  for (std::size_t i = 0; i < b.dims.size(); ++i)
    if (a.dims[i + shift] == 1) a.dims[i + shift] = b.dims[i];
  return a;
}

// Returns the output size along one axis of a window.
std::int64_t windowed(std::int64_t size, std::int64_t kernel, std::int64_t stride, bool same) {
  if (size < 0 || kernel < 1 || stride < 1) return kUnknown;
  if (same) return (size + stride - 1) / stride;
  return size >= kernel ? (size - kernel) / stride + 1 : kUnknown;
}

TensorSpec slide(const Inference& at, std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t channels) {
  TensorSpec image = at.input(0);
  const Dims strides = at.integers("strides");
  const std::string padding = at.node.text("padding", "");
  if (!image.has_shape || image.dims.size() != 4 || strides.size() != 4 ||
      (padding != "SAME" && padding != "VALID"))
    return {};
  const std::size_t h = at.channels_first() ? 2 : 1, c = at.channels_first() ? 1 : 3;
  image.dims[h] = windowed(image.dims[h], kernel_h, strides[h], padding == "SAME");
  image.dims[h + 1] = windowed(image.dims[h + 1], kernel_w, strides[h + 1], padding == "SAME");
  if (channels != 0) image.dims[c] = channels;
  return image;
}

// Filters are (rows, columns, input channels, output channels).
TensorSpec convolution(const Inference& at) {
  const TensorSpec filter = at.input(1);
  if (!filter.has_shape || filter.dims.size() != 4) return {};
  const bool depthwise = at.node.op->type == "DepthwiseConv2dNative";
  const bool countable = filter.dims[2] >= 0 && filter.dims[3] >= 0;
  const std::int64_t channels = !countable  ? kUnknown
                                : depthwise ? filter.dims[2] * filter.dims[3]
                                            : filter.dims[3];
  return slide(at, filter.dims[0], filter.dims[1], channels);
}

TensorSpec pool(const Inference& at) {
  const Dims kernel = at.integers("ksize");
  if (kernel.size() != 4) return {};
  const std::size_t h = at.channels_first() ? 2 : 1;
  return slide(at, kernel[h], kernel[h + 1], 0);
}

TensorSpec product(const Inference& at) {
  TensorSpec a = at.input(0);
  const TensorSpec b = at.input(1);
  if (!a.has_shape || !b.has_shape || a.dims.size() < 2 || b.dims.size() != a.dims.size()) return {};
  const auto flag = [&](const char* name) {
    const Value* value = at.node.find(name);
    return value != nullptr && value->truth;
  };
  const bool batched = at.node.op->type != "MatMul";
  const std::size_t last = a.dims.size() - 1;
  const std::int64_t rows = flag(batched ? "adj_x" : "transpose_a") ? a.dims[last] : a.dims[last - 1];
  a.dims[last] = flag(batched ? "adj_y" : "transpose_b") ? b.dims[last - 1] : b.dims[last];
  a.dims[last - 1] = rows;
  return a;
}

TensorSpec constant_first(const Inference& at) {
  const Dims dims = at.constant(0);
  return dims.empty() ? TensorSpec{} : shaped(dims);
}
TensorSpec constant_second(const Inference& at) {
  const Dims dims = at.constant(1);
  return dims.empty() ? TensorSpec{} : shaped(dims);
}

// Returns a shape that an op puts together of numbers, one of which may be computed: -1.
Dims packed(const Inference& at, std::size_t input) {
  if (input >= at.inputs()) return {};
  const Node& pack = at.nodes[static_cast<std::size_t>(at.node.op->inputs[input].node)];
  const Inference of_pack{at.graph, at.nodes, pack};
  Dims dims;
  if (pack.op->type != "Pack") return dims;
  for (std::size_t i = 0; i < of_pack.inputs(); ++i) {
    const Dims one = of_pack.constant(i);
    dims.push_back(one.size() == 1 ? one[0] : kUnknown);
  }
  return std::count(dims.begin(), dims.end(), kUnknown) <= 1 ? dims : Dims{};
}

// Returns the shape that the file says, of which one dimension may be open.
Dims said(const Inference& at) {
  const std::vector<TensorSpec>& outputs = at.node.op->outputs;
  const bool is_said = !outputs.empty() && outputs[0].has_shape &&
                       std::count(outputs[0].dims.begin(), outputs[0].dims.end(), kUnknown) <= 1;
  return is_said ? outputs[0].dims : Dims{};
}

TensorSpec reshape(const Inference& at) {
  Dims dims = at.constant(1);
  if (dims.empty()) dims = packed(at, 1);
  if (dims.empty()) dims = said(at);
  if (dims.empty()) return {};
  const std::optional<std::int64_t> elements = at.input(0).elements();
  double known = 1;
  for (const std::int64_t dim : dims) known *= dim > 0 ? static_cast<double>(dim) : 1;
  for (std::int64_t& dim : dims)
    if (dim == -1)
      dim = elements && known <= static_cast<double>(kMaxElements)
                ? *elements / static_cast<std::int64_t>(known)
                : kUnknown;
  return shaped(std::move(dims));
}

TensorSpec concat(const Inference& at) {
  const std::size_t parts = at.inputs() < 2 ? 0 : at.inputs() - 1;
  const Dims axis = at.constant(parts);  // of ConcatV2 the last input
  TensorSpec joined = at.input(0);
  if (parts == 0 || axis.size() != 1 || !joined.has_shape) return {};
  const auto rank = static_cast<std::int64_t>(joined.dims.size());
  const std::int64_t along = axis[0] < 0 ? axis[0] + rank : axis[0];
  if (along < 0 || along >= rank) return {};
  std::int64_t& size = joined.dims[static_cast<std::size_t>(along)];
  for (std::size_t i = 1; i < parts && size >= 0; ++i) {
    const TensorSpec part = at.input(i);
    const bool known = part.has_shape && part.dims.size() == joined.dims.size() &&
                       part.dims[static_cast<std::size_t>(along)] >= 0;
    size = known ? size + part.dims[static_cast<std::size_t>(along)] : kUnknown;
    if (size > kMaxElements) size = kUnknown;
  }
  return joined;
}

TensorSpec pad(const Inference& at) {
  TensorSpec padded = at.input(0);
  const Dims pads = at.constant(1);
  if (!padded.has_shape || pads.size() != 2 * padded.dims.size()) return {};
  for (std::size_t i = 0; i < padded.dims.size(); ++i) {
    const std::int64_t before = pads[2 * i], after = pads[2 * i + 1];
    const bool known =
        padded.dims[i] >= 0 && before >= 0 && after >= 0 && before <= kMaxElements && after <= kMaxElements;
    padded.dims[i] = known ? padded.dims[i] + before + after : kUnknown;
  }
  return shaped(padded.dims);
}

TensorSpec reduce(const Inference& at) {
  const TensorSpec src = at.input(0);
  const Dims axes = at.constant(1);
  if (!src.has_shape || axes.empty()) return {};
  const Value* keep = at.node.find("keep_dims");
  const auto rank = static_cast<std::int64_t>(src.dims.size());
  Dims dims;
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool gone = std::any_of(axes.begin(), axes.end(),
                                  [&](std::int64_t axis) { return axis == i || axis == i - rank; });
    if (!gone) dims.push_back(src.dims[static_cast<std::size_t>(i)]);
    if (gone && keep != nullptr && keep->truth) dims.push_back(1);
  }
  return shaped(std::move(dims));
}

TensorSpec transpose(const Inference& at) {
  const TensorSpec src = at.input(0);
  const Dims order = at.constant(1);
  if (!src.has_shape || order.size() != src.dims.size()) return {};
  Dims dims;
  for (const std::int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(src.dims.size())) return {};
    dims.push_back(src.dims[static_cast<std::size_t>(axis)]);
  }
  return shaped(std::move(dims));
}

TensorSpec squeeze(const Inference& at) {
  const TensorSpec src = at.input(0);
  if (!src.has_shape) return {};
  const Dims axes = at.integers("squeeze_dims");
  Dims dims;
  const auto rank = static_cast<std::int64_t>(src.dims.size());
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t dim = src.dims[static_cast<std::size_t>(i)];
    const bool named = std::any_of(axes.begin(), axes.end(),
                                   [&](std::int64_t axis) { return axis == i || axis == i - rank; });
    if (axes.empty() ? dim != 1 : !named) dims.push_back(dim);
  }
  return shaped(std::move(dims));
}

TensorSpec channels_of_first(const Inference& at) {
  const TensorSpec src = at.input(0);
  if (!src.has_shape || src.dims.size() < 2) return {};
  return shaped({at.channels_first() && src.dims.size() == 4 ? src.dims[1] : src.dims.back()});
}

TensorSpec rows_of_first(const Inference& at) {
  const TensorSpec src = at.input(0);
  return src.has_shape && !src.dims.empty() ? shaped({src.dims[0]}) : TensorSpec{};
}

TensorSpec rank_of_first(const Inference& at) {
  const TensorSpec src = at.input(0);
  return src.has_shape ? shaped({static_cast<std::int64_t>(src.dims.size())}) : TensorSpec{};
}

struct RuleRow {
  std::string_view type;
  Rule rule;
};
constexpr RuleRow kRules[] = {{"Const", attribute_shape},
                              {"Placeholder", placeholder},
                              {"PlaceholderV2", placeholder},
                              {"Variable", attribute_shape},
                              {"VariableV2", attribute_shape},
                              {"VarHandleOp", attribute_shape},
                              {"ReadVariableOp", like_first},
                              {"Conv2D", convolution},
                              {"DepthwiseConv2dNative", convolution},
                              {"MaxPool", pool},
                              {"AvgPool", pool},
                              {"MatMul", product},
                              {"BatchMatMul", product},
                              {"BatchMatMulV2", product},
                              {"Conv2DBackpropInput", constant_first},
                              {"Conv2DBackpropFilter", constant_second},
                              {"AvgPoolGrad", constant_first},
                              {"MaxPoolGrad", like_first},
                              {"Reshape", reshape},
                              {"ConcatV2", concat},
                              {"Pad", pad},
                              {"Mean", reduce},
                              {"Sum", reduce},
                              {"Max", reduce},
                              {"Min", reduce},
                              {"Prod", reduce},
                              {"Transpose", transpose},
                              {"Squeeze", squeeze},
                              {"BiasAddGrad", channels_of_first},
                              {"Shape", rank_of_first},
                              {"SparseSoftmaxCrossEntropyWithLogits", rows_of_first},
                              {"SoftmaxCrossEntropyWithLogits", rows_of_first},
                              {"Fill", constant_first},
                              {"TruncatedNormal", constant_first},
                              {"RandomUniform", constant_first},
                              {"RandomStandardNormal", constant_first},
                              {"RandomUniformInt", constant_first},
                              {"FusedBatchNormGrad", like_second},
                              {"FusedBatchNormGradV2", like_second},
                              {"FusedBatchNormGradV3", like_second}};

constexpr std::array<std::string_view, 13> kBroadcastTypes{
    "Add",      "AddV2",    "Sub", "Mul", "Div", "RealDiv", "Maximum", "Minimum", "Pow", "SquaredDifference",
    "FloorDiv", "FloorMod", "Less"};
constexpr std::array<std::string_view, 42> kSameTypes{"Abs",
                                                      "AddN",
                                                      "Assign",
                                                      "AssignAdd",
                                                      "AssignSub",
                                                      "BiasAdd",
                                                      "Cast",
                                                      "CheckNumerics",
                                                      "Elu",
                                                      "Exp",
                                                      "Floor",
                                                      "FusedBatchNorm",
                                                      "FusedBatchNormV2",
                                                      "FusedBatchNormV3",
                                                      "Identity",
                                                      "LRN",
                                                      "LeakyRelu",
                                                      "Log",
                                                      "LogSoftmax",
                                                      "Neg",
                                                      "OnesLike",
                                                      "Reciprocal",
                                                      "Relu",
                                                      "Relu6",
                                                      "Relu6Grad",
                                                      "ReluGrad",
                                                      "Rsqrt",
                                                      "Sigmoid",
                                                      "SigmoidGrad",
                                                      "Softmax",
                                                      "Softplus",
                                                      "Sqrt",
                                                      "Square",
                                                      "StopGradient",
                                                      "Tanh",
                                                      "TanhGrad",
                                                      "ZerosLike",
                                                      "ApplyAdam",
                                                      "ApplyGradientDescent",
                                                      "ApplyMomentum",
                                                      "ApplyRMSProp",
                                                      "PreventGradient"};

Rule rule_of(std::string_view type) {
  for (const RuleRow& row : kRules)
    if (row.type == type) return row.rule;
  if (std::find(kBroadcastTypes.begin(), kBroadcastTypes.end(), type) != kBroadcastTypes.end())
    return broadcast;
  if (std::find(kSameTypes.begin(), kSameTypes.end(), type) != kSameTypes.end()) return like_first;
  return nullptr;
}

// Such ops make nothing, and only control edges read them.
bool makes_nothing(std::string_view type) {
  return type == "NoOp" || type == "Assert" || type.starts_with("ResourceApply");
}

}  // namespace

bool has_formula(std::string_view type) { return rule_of(type) != nullptr; }

const Value* Node::find(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

std::string Node::text(std::string_view name, const std::string& otherwise) const {
  const Value* value = find(name);
  return value != nullptr ? value->text : otherwise;
}

std::string dtype_of(std::string_view type) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"DT_FLOAT", "f32"},  {"DT_DOUBLE", "f64"},   {"DT_INT32", "i32"},     {"DT_UINT8", "u8"},
      {"DT_INT16", "i16"},  {"DT_INT8", "i8"},      {"DT_INT64", "i64"},     {"DT_BOOL", "bool"},
      {"DT_UINT16", "u16"}, {"DT_HALF", "f16"},     {"DT_BFLOAT16", "bf16"}, {"DT_UINT32", "u32"},
      {"DT_UINT64", "u64"}, {"DT_COMPLEX64", "c64"}};
  const std::string_view plain = type.ends_with("_REF") ? type.substr(0, type.size() - 4) : type;
  for (const auto& [name, ours] : kNames)
    if (name == plain) return ours;
  return "";
}

void infer_shapes(std::vector<Node>& nodes, ExchangeGraph& graph, std::int64_t batch) {
  for (const int index : topological_order(graph)) {
    Node& node = nodes[static_cast<std::size_t>(index)];
    std::vector<TensorSpec>& outputs = node.op->outputs;
    if (const Value* said = node.find("_output_shapes")) outputs = said->shapes;
    if (makes_nothing(node.op->type)) continue;
    if (outputs.empty()) outputs.emplace_back();
    if (!outputs[0].elements())
      if (const Rule rule = rule_of(node.op->type)) {
        TensorSpec followed = rule({graph, nodes, node, batch});
        if (followed.has_shape) outputs[0] = std::move(followed);
      }
    for (const char* name : {"dtype", "T", "DstT", "out_type"}) {
      const std::string dtype = dtype_of(node.text(name, ""));
      for (TensorSpec& output : outputs)
        if (!dtype.empty()) output.dtype = dtype;
    }
  }
}

}  // namespace trainyard::interchange::tensorflow
