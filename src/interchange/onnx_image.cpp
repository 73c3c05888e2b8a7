// This file maps convolution, pooling and the normalisations of images.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/broadcast.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
using onnx::Attribute;
using Pair = std::array<std::int64_t, 2>;

std::vector<Attribute> window_attributes(const ops::Window2d& window) {
  return {
      attribute("kernel_shape", std::vector{window.kernel_h, window.kernel_w}),
      attribute("strides", std::vector{window.stride_h, window.stride_w}),
      attribute("pads", std::vector{window.pad_top, window.pad_left, window.pad_bottom, window.pad_right})};
}

Pair pair_of(const onnx::Node& node, const char* name, Pair otherwise) {
  const std::vector<std::int64_t> given = node.integers(name);
  if (given.empty()) return otherwise;
  if (given.size() != 2)
    ImportContext::decline("{} has {} numbers: only two dimensions are ours", name, given.size());
  for (const std::int64_t value : given)
    if (value < 1 || value > kMaxWindow)
      ImportContext::decline("{} {} is not from 1 to {}", name, value, kMaxWindow);
  return {given[0], given[1]};
}

void read_pads(const onnx::Node& node, ops::Window2d& window) {
  const std::vector<std::int64_t> pads = node.integers("pads");
  if (pads.empty()) return;
  if (pads.size() != 4)
    ImportContext::decline("pads has {} numbers: only two dimensions are ours", pads.size());
  for (const std::int64_t pad : pads)
    if (pad < 0 || pad > kMaxWindow) ImportContext::decline("pad {} is not from 0 to {}", pad, kMaxWindow);
  window.pad_top = pads[0];
  window.pad_left = pads[1];
  window.pad_bottom = pads[2];
  window.pad_right = pads[3];
}

}  // namespace

ops::Window2d read_window(const onnx::Node& node, const Shape& image, std::array<std::int64_t, 2> kernel) {
  if (image.rank() != 4)
    ImportContext::decline("input is {}: only images (N, C, H, W) are ours", image.to_string());
  kernel = pair_of(node, "kernel_shape", kernel);
  const Pair stride = pair_of(node, "strides", {1, 1}), dilation = pair_of(node, "dilations", {1, 1});
  ops::Window2d window{.kernel_h = kernel[0],
                       .kernel_w = kernel[1],
                       .stride_h = stride[0],
                       .stride_w = stride[1],
                       .dilation_h = dilation[0],
                       .dilation_w = dilation[1]};
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    read_pads(node, window);
  } else if (mode == "SAME_UPPER") {
    window = with_same_padding(window, image[2], image[3]);
  } else if (mode != "VALID") {
    ImportContext::decline("auto_pad {} is not ours", mode.substr(0, 32));
  }
  if (node.integer("ceil_mode", 0) != 0) window = with_ceil(window, image[2], image[3]);
  return window;
}

namespace {

void want_countable(const ops::Window2d& window, const Shape& image, std::int64_t channels) {
  ImportContext::want_elements({image[0], channels, image[2] + window.pad_top + window.pad_bottom,
                                image[3] + window.pad_left + window.pad_right});
}

void export_conv(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::Conv2dAttrs>();
  std::vector<Attribute> attributes = window_attributes(attrs.window);
  attributes.push_back(attribute("dilations", std::vector{attrs.window.dilation_h, attrs.window.dilation_w}));
  attributes.push_back(attribute("group", attrs.groups));
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(context.input(node, i));
  context.add(node, "Conv", std::move(inputs), std::move(attributes));
}

// The source of a node that walks over images, and the node. Rows (N, C, L) are images of one row, with
// windows of one row.
struct ImageSource {
  ValueId src;
  onnx::Node node;
  bool of_rows = false;

  ValueId back(ImportContext& context, ValueId made) const {
    const Shape& shape = context.graph().shape(made);
    return of_rows ? ops::reshape(context.graph(), context.name(node) + "/rows", made,
                                  {shape[0], shape[1], shape[3]})
                   : made;
  }
};

ImageSource image_source(ImportContext& context, const onnx::Node& node) {
  ImageSource source{context.tensor(node, 0), node};
  const Shape shape = context.graph().shape(source.src);
  if (shape.rank() != 3) return source;
  source.of_rows = true;
  source.src = ops::reshape(context.graph(), context.name(node) + "/image", source.src,
                            {shape[0], shape[1], 1, shape[2]});
  for (onnx::Attribute& attribute : source.node.attributes) {
    std::vector<std::int64_t>& numbers = attribute.integers;
    if (attribute.name == "pads" && numbers.size() == 2) numbers = {0, numbers[0], 0, numbers[1]};
    for (const char* name : {"kernel_shape", "strides", "dilations"})
      if (attribute.name == name && numbers.size() == 1) numbers = {1, numbers[0]};
  }
  return source;
}

ValueId import_conv(ImportContext& context, const onnx::Node& node) {
  const ImageSource source = image_source(context, node);
  const Shape image = context.graph().shape(source.src);
  Shape weight = context.shape(node, 1);
  if (source.of_rows && weight.rank() == 3) weight = {weight[0], weight[1], 1, weight[2]};
  if (weight.rank() != 4) context.decline("weight is {}: only images are ours", weight.to_string());
  const ops::Window2d window = read_window(source.node, image, {weight[2], weight[3]});
  want_countable(window, image, weight[0]);
  const ValueId bias =
      context.has(node, 2) ? context.state(node, 2, {weight[0]}) : static_cast<ValueId>(graph::kNone);
  return source.back(
      context, ops::conv2d(context.graph(), context.name(node), source.src, context.state(node, 1, weight),
                           bias, {.window = window, .groups = node.integer("group", 1)}));
}

void export_max_pool(ExportContext& context, const graph::Node& node) {
  context.add(node, "MaxPool", {context.input(node, 0)},
              window_attributes(node.attrs<ops::MaxPoolAttrs>().window));
}

// The check looks at each place of a pool one by one, so windows have a size limit.
ops::Window2d pool_window(const onnx::Node& node, const Shape& image) {
  const ops::Window2d window = read_window(node, image, {1, 1});
  want_countable(window, image, image[1]);
  ImportContext::want_elements({image[2] + window.pad_top + window.pad_bottom, window.kernel_h, 8});
  ImportContext::want_elements({image[3] + window.pad_left + window.pad_right, window.kernel_w, 8});
  return window;
}

ValueId import_max_pool(ImportContext& context, const onnx::Node& node) {
  const ImageSource source = image_source(context, node);
  const ops::Window2d window = pool_window(source.node, context.graph().shape(source.src));
  return source.back(context, ops::max_pool(context.graph(), context.name(node), source.src, window));
}

void export_average_pool(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::AveragePoolAttrs>();
  const Shape &src = context.graph().shape(node.inputs[0]), &dst = context.graph().shape(node.outputs[0]);
  const bool global =
      dst[2] == 1 && dst[3] == 1 && attrs.window.kernel_h == src[2] && attrs.window.kernel_w == src[3];
  if (global) return context.add(node, "GlobalAveragePool", {context.input(node, 0)});
  std::vector<Attribute> attributes = window_attributes(attrs.window);
  attributes.push_back(attribute("count_include_pad", std::int64_t{attrs.count_padding}));
  context.add(node, "AveragePool", {context.input(node, 0)}, std::move(attributes));
}

ValueId import_average_pool(ImportContext& context, const onnx::Node& node) {
  const ImageSource source = image_source(context, node);
  const ops::AveragePoolAttrs attrs{.window = pool_window(source.node, context.graph().shape(source.src)),
                                    .count_padding = node.integer("count_include_pad", 0) != 0};
  return source.back(context, ops::average_pool(context.graph(), context.name(node), source.src, attrs));
}

ValueId import_global_average_pool(ImportContext& context, const onnx::Node& node) {
  const ImageSource source = image_source(context, node);
  if (context.graph().shape(source.src).rank() != 4) context.decline("only images (N, C, H, W) are ours");
  return source.back(context, ops::global_average_pool(context.graph(), context.name(node), source.src));
}

ValueId import_global_max_pool(ImportContext& context, const onnx::Node& node) {
  const ImageSource source = image_source(context, node);
  const Shape& shape = context.graph().shape(source.src);
  if (shape.rank() != 4) context.decline("only images (N, C, H, W) are ours");
  return source.back(context, ops::max_pool(context.graph(), context.name(node), source.src,
                                            {.kernel_h = shape[2], .kernel_w = shape[3]}));
}

// ONNX's momentum is the share of the old value. The export has the form of inference.
void export_batch_norm(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::BatchNormAttrs>();
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(context.input(node, i));
  context.add(node, "BatchNormalization", std::move(inputs),
              {attribute("epsilon", attrs.epsilon), attribute("momentum", 1 - attrs.momentum)});
}

ValueId import_batch_norm(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  ValueId src = context.tensor(node, 0);
  const Shape shape = graph.shape(src);
  if (shape.rank() < 2) context.decline("input is {}", shape.to_string());
  const bool as_image = shape.rank() != 4 && shape.rank() != 2;
  if (as_image)
    src = ops::reshape(graph, context.name(node) + "/image", src,
                       {shape[0], shape[1], shape.elements_from(2), 1});
  const Shape channels{shape[1]};
  const auto statistic = [&](std::size_t i) {
    return context.state(node, i, channels, graph::Role::statistic);
  };
  const ops::BatchNormInputs inputs{src, context.state(node, 1, channels), context.state(node, 2, channels),
                                    statistic(3), statistic(4)};
  const ValueId made = ops::batch_norm(graph, context.name(node), inputs,
                                       {.epsilon = node.number("epsilon", 1e-5),
                                        .momentum = 1 - node.number("momentum", 0.9),
                                        .training = context.training()});
  return as_image ? ops::reshape(graph, context.name(node) + "/whole", made, shape) : made;
}

// A factor or an offset of each channel; nothing where it is the same number, which does nothing, for all.
std::optional<ValueId> of_channels(ImportContext& context, const onnx::Node& node, std::size_t input,
                                   double nothing, const Shape& whole) {
  const auto numbers = context.known().maker(node.inputs[input]) != nullptr
                           ? context.known().numbers(node.inputs[input])
                           : nullptr;
  if (numbers != nullptr &&
      std::all_of(numbers->begin(), numbers->end(), [&](double number) { return number == nothing; }))
    return std::nullopt;
  Shape shape = whole;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axis != 1) shape[axis] = 1;
  const ValueId vector =
      numbers != nullptr ? context.tensor(node, input) : context.state(node, input, {whole[1]});
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node) + (nothing == 1 ? "/factors" : "/offsets");
  return ops::repeat(graph, name, ops::reshape(graph, name + "_of_channels", vector, shape), whole);
}

// Each channel of an image is a row that is brought to mean 0 and variance 1.
ValueId import_instance_norm(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId src = context.tensor(node, 0);
  const Shape shape = graph.shape(src);
  if (shape.rank() < 3 || !context.has(node, 1) || !context.has(node, 2))
    context.decline("its input is {}", shape.to_string());
  const std::int64_t rows = shape[0] * shape[1], width = shape.elements() / rows;
  const auto same = [&](const char* what, double value) {
    return ops::fill(graph, name + what, {{width}, graph.dtype(src)}, value);
  };
  ValueId made = ops::layer_norm(graph, name, ops::reshape(graph, name + "/rows", src, {rows, width}),
                                 same("/ones", 1), same("/zeros", 0), node.number("epsilon", 1e-5));
  made = ops::reshape(graph, name + "/image", made, shape);
  if (const auto factors = of_channels(context, node, 1, 1, shape))
    made = ops::multiply(graph, name + "/scaled", made, *factors);
  if (const auto offsets = of_channels(context, node, 2, 0, shape))
    made = ops::add(graph, name + "/shifted", {made, *offsets});
  return made;
}

// ONNX divides alpha by the size of the window.
void export_local_response_norm(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::LocalResponseNormAttrs>();
  context.add(
      node, "LRN", {context.input(node, 0)},
      {attribute("size", attrs.window), attribute("bias", attrs.k),
       attribute("alpha", attrs.alpha * static_cast<double>(attrs.window)), attribute("beta", attrs.beta)});
}

ValueId import_local_response_norm(ImportContext& context, const onnx::Node& node) {
  const std::int64_t window = node.integer("size", 1);
  if (window < 1 || window > kMaxWindow) context.decline("size {} is not from 1 to {}", window, kMaxWindow);
  return ops::local_response_norm(context.graph(), context.name(node), context.tensor(node, 0),
                                  {.window = window,
                                   .k = node.number("bias", 1),
                                   .alpha = node.number("alpha", 1e-4) / static_cast<double>(window),
                                   .beta = node.number("beta", 0.75)});
}

}  // namespace

std::vector<ImportRow> image_import_rows() {
  return {{"Conv", import_conv},
          {"MaxPool", import_max_pool},
          {"AveragePool", import_average_pool},
          {"GlobalAveragePool", import_global_average_pool},
          {"GlobalMaxPool", import_global_max_pool},
          {"BatchNormalization", import_batch_norm},
          {"InstanceNormalization", import_instance_norm},
          {"LRN", import_local_response_norm}};
}

std::vector<ExportRow> image_export_rows() {
  return {{&ops::conv2d_op, export_conv},
          {&ops::max_pool_op, export_max_pool},
          {&ops::average_pool_op, export_average_pool},
          {&ops::batch_norm_op, export_batch_norm},
          {&ops::local_response_norm_op, export_local_response_norm}};
}

}  // namespace trainyard::interchange
