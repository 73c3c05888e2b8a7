// This file maps ops that make images larger or change pixels for channels.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/broadcast.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;

Shape image_of(ImportContext& context, const onnx::Node& node) {
  const Shape shape = context.graph().shape(context.tensor(node, 0));
  if (shape.rank() != 4) context.decline("its input is {}: only images are ours", shape.to_string());
  return shape;
}

// Returns the dimensions of the output: the file says them, or factors of those of the input that make whole
// numbers of pixels.
Shape resized_shape(ImportContext& context, const onnx::Node& node) {
  const std::size_t at = node.type == "Resize" && node.inputs.size() > 2 ? 2 : 1;
  const bool sized = node.type == "Resize" && context.has(node, 3);
  const auto scales = !sized && context.has(node, at) ? context.known().numbers(node.inputs[at]) : nullptr;
  const Shape from = context.graph().shape(context.tensor(node, 0));
  Shape scaled;
  double elements = 1;
  for (std::size_t i = 0; scales != nullptr && i < scales->size() && i < 4; ++i) {
    const double size = (*scales)[i] * static_cast<double>(from[static_cast<int>(i)]);
    if (std::abs(size - std::round(size)) > 1e-3) context.decline("{} pixels are no whole number", size);
    elements *= size;
    if (!(size > 0.5 && elements <= static_cast<double>(kMaxElements)))
      context.decline("{} pixels are not possible", size);
    scaled.append(static_cast<std::int64_t>(std::round(size)));
  }
  const std::optional<graph::TensorType> type = type_of(context.known().spec(node.outputs[0]));
  if (!type && scaled.rank() != 4) context.decline("its size does not follow from the file");
  const Shape to = type ? type->shape : scaled;
  context.want_elements(to);
  return to;
}

// Returns the pixel of the input, along one axis, that each pixel of the output is next to.
std::vector<std::int64_t> nearest(const onnx::Node& node, std::int64_t from, std::int64_t to) {
  const std::string place = node.text("coordinate_transformation_mode",
                                      node.type == "Resize" ? "half_pixel" : "asymmetric"),
                    mode = node.text("nearest_mode", node.type == "Resize" ? "round_prefer_floor" : "floor");
  std::vector<std::int64_t> pixels;
  const double share = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const auto x = static_cast<double>(i);
    double at = 0;
    if (place == "half_pixel" || (place == "pytorch_half_pixel" && to > 1))
      at = (x + 0.5) * share - 0.5;
    else if (place == "asymmetric")
      at = x * share;
    else if (place == "align_corners")
      at = to == 1 ? 0 : x * static_cast<double>(from - 1) / static_cast<double>(to - 1);
    else if (place != "pytorch_half_pixel")
      ImportContext::decline("coordinates {} are not ours", place.substr(0, 32));
    const double below = std::ceil(at - 0.5), above = std::floor(at + 0.5);
    const double chosen = mode == "round_prefer_floor"  ? below
                          : mode == "round_prefer_ceil" ? above
                          : mode == "ceil"              ? std::ceil(at)
                                                        : std::floor(at);
    pixels.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(chosen), 0, from - 1));
  }
  return pixels;
}

// Returns how many pixels of the output there are for each of the input, where they stand beside each other.
std::int64_t whole_factor(const onnx::Node& node, std::int64_t from, std::int64_t to) {
  if (to % from != 0) ImportContext::decline("{} pixels become {}: only whole factors are ours", from, to);
  const std::int64_t factor = to / from;
  const std::vector<std::int64_t> pixels = nearest(node, from, to);
  for (std::int64_t i = 0; i < to; ++i)
    if (pixels[static_cast<std::size_t>(i)] != i / factor)
      ImportContext::decline("its pixels are not repeated equally often");
  return factor;
}

ops::ResizePlaces places_of(const onnx::Node& node, const Shape& from, const Shape& to) {
  const std::string place =
      node.text("coordinate_transformation_mode", node.type == "Resize" ? "half_pixel" : "asymmetric");
  if (node.integer("antialias", 0) != 0 || node.integer("exclude_outside", 0) != 0)
    ImportContext::decline("antialias and exclude_outside are not ours");
  if (place == "align_corners") return ops::ResizePlaces::align_corners;
  if (place == "asymmetric") return ops::ResizePlaces::asymmetric;
  // For a single pixel of the result PyTorch takes the first one of the source.
  const bool single = (to[2] == 1 && from[2] > 1) || (to[3] == 1 && from[3] > 1);
  if (place == "half_pixel" || (place == "pytorch_half_pixel" && !single))
    return ops::ResizePlaces::half_pixel;
  ImportContext::decline("coordinates {} are not ours", place.substr(0, 32));
}

ValueId import_resize(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node), mode = node.text("mode", "nearest");
  const Shape from = image_of(context, node), to = resized_shape(context, node);
  const ValueId src = context.tensor(node, 0);
  if (to == from) return src;
  if (to.rank() != 4 || to[0] != from[0] || to[1] != from[1]) context.decline("only pixels are made more");
  if (mode == "linear" || mode == "bilinear")
    return ops::resize(graph, name, src, {places_of(node, from, to), to});
  if (mode != "nearest") context.decline("mode {} is not ours", mode.substr(0, 32));
  const std::int64_t rows = whole_factor(node, from[2], to[2]), columns = whole_factor(node, from[3], to[3]);
  if (rows == columns) return ops::upsample(graph, name, src, {rows});
  const ValueId apart =
      ops::reshape(graph, name + "/pixels", src, {from[0] * from[1], from[2], 1, from[3], 1});
  const ValueId more = ops::repeat(graph, name, apart, {from[0] * from[1], from[2], rows, from[3], columns});
  return ops::reshape(graph, name + "/image", more, to);
}

// The size of one axis, and what the window leaves of it at its end.
std::int64_t transposed_size(std::int64_t src, std::int64_t stride, std::int64_t reach, std::int64_t more,
                             std::int64_t before, std::int64_t& after, std::int64_t wanted) {
  const std::int64_t whole = stride * (src - 1) + reach + more;
  if (wanted > 0) after = whole - before - wanted;
  const std::int64_t size = whole - before - after;
  if (size < 1 || size > kMaxElements || more >= std::max<std::int64_t>(stride, 1) || after < 0)
    ImportContext::decline("output padding {} or size {} is not ours", more, size);
  return size;
}

ValueId import_transposed_conv(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const Shape image = image_of(context, node), weight = context.shape(node, 1);
  if (weight.rank() != 4) context.decline("weight is {}: only images are ours", weight.to_string());
  const std::string pad = node.text("auto_pad", "NOTSET");
  if (pad != "NOTSET" && pad != "VALID") context.decline("auto_pad {} is not ours", pad.substr(0, 32));
  ops::Window2d window = read_window(node, image, {weight[2], weight[3]});
  const std::vector<std::int64_t> more = node.integers("output_padding"),
                                  sizes = node.integers("output_shape");
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t i) {
    return list.size() >= 2 ? std::clamp<std::int64_t>(list[list.size() - 2 + i], 0, kMaxElements) : 0;
  };
  if (!sizes.empty() && !node.integers("pads").empty()) context.decline("it has pads and a size");
  const std::int64_t height = transposed_size(image[2], window.stride_h, window.reach_h(), at(more, 0),
                                              window.pad_top, window.pad_bottom, at(sizes, 0)),
                     width = transposed_size(image[3], window.stride_w, window.reach_w(), at(more, 1),
                                             window.pad_left, window.pad_right, at(sizes, 1));
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > weight[0]) context.decline("{} groups", groups);
  context.want_elements({image[0], weight[1], groups, height, width});
  const ValueId made = ops::conv2d_transposed(
      graph, name, context.tensor(node, 0), context.state(node, 1, weight), {window, groups}, height, width);
  if (!context.has(node, 2)) return made;
  const Shape whole = graph.shape(made);
  const ValueId bias = ops::reshape(graph, name + "/bias_of_channels", context.state(node, 2, {whole[1]}),
                                    {1, whole[1], 1, 1});
  return ops::add(graph, name + "/biased", {made, ops::repeat(graph, name + "/bias_of_pixels", bias, whole)});
}

// Channels become squares of pixels, or back: a move of axes.
template <bool to_space>
ValueId import_depth(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const Shape shape = image_of(context, node);
  const std::int64_t block = node.integer("blocksize", 0);
  const bool fits =
      block >= 1 && block <= kMaxWindow &&
      (to_space ? shape[1] % (block * block) == 0 : shape[2] % block == 0 && shape[3] % block == 0);
  if (!fits) context.decline("blocks of {} in {}", block, shape.to_string());
  const std::int64_t n = shape[0], c = to_space ? shape[1] / (block * block) : shape[1],
                     h = to_space ? shape[2] : shape[2] / block, w = to_space ? shape[3] : shape[3] / block;
  const ValueId src = context.tensor(node, 0);
  const auto moved = [&](const Shape& split, std::vector<int> order, const Shape& made) {
    const ValueId apart = ops::reshape(graph, name + "/split", src, split);
    return ops::reshape(graph, name + "/joined", ops::permute(graph, name, apart, std::move(order)), made);
  };
  if (!to_space) return moved({n, c, h, block, w, block}, {0, 3, 5, 1, 2, 4}, {n, c * block * block, h, w});
  const Shape made{n, c, h * block, w * block};
  if (node.text("mode", "DCR") == "CRD") return moved({n, c, block, block, h, w}, {0, 1, 4, 2, 5, 3}, made);
  return moved({n, block, block, c, h, w}, {0, 3, 4, 1, 5, 2}, made);
}

void export_upsample(ExportContext& context, const graph::Node& node) {
  const auto factor = static_cast<float>(node.attrs<ops::UpsampleAttrs>().factor);
  const std::string scales = node.name + "/scales";
  context.add(node, "Resize",
              {context.input(node, 0), "", context.shared_constant(scales, {4}, {1, 1, factor, factor})},
              {attribute("mode", "nearest"), attribute("coordinate_transformation_mode", "asymmetric"),
               attribute("nearest_mode", "floor")});
}

void export_resize(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::ResizeAttrs>();
  const Shape &src = context.graph().shape(node.inputs[0]), &dst = attrs.shape;
  const auto scale = [&](int axis) { return static_cast<float>(dst[axis]) / static_cast<float>(src[axis]); };
  const char* places = attrs.places == ops::ResizePlaces::half_pixel      ? "half_pixel"
                       : attrs.places == ops::ResizePlaces::align_corners ? "align_corners"
                                                                          : "asymmetric";
  context.add(node, "Resize",
              {context.input(node, 0), "",
               context.shared_constant(node.name + "/scales", {4}, {1, 1, scale(2), scale(3)})},
              {attribute("mode", "linear"), attribute("coordinate_transformation_mode", places)});
}

void export_transposed_conv(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  const ops::Window2d& window = attrs.conv.window;
  const Shape& src = context.graph().shape(node.inputs[0]);
  const std::int64_t more_h = attrs.shape[2] + window.pad_top + window.pad_bottom - window.reach_h() -
                              window.stride_h * (src[2] - 1),
                     more_w = attrs.shape[3] + window.pad_left + window.pad_right - window.reach_w() -
                              window.stride_w * (src[3] - 1);
  context.add(
      node, "ConvTranspose", {context.input(node, 0), context.input(node, 1)},
      {attribute("kernel_shape", std::vector{window.kernel_h, window.kernel_w}),
       attribute("strides", std::vector{window.stride_h, window.stride_w}),
       attribute("dilations", std::vector{window.dilation_h, window.dilation_w}),
       attribute("pads", std::vector{window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}),
       attribute("output_padding", std::vector{more_h, more_w}), attribute("group", attrs.conv.groups)});
}

}  // namespace

std::vector<ImportRow> resize_import_rows() {
  return {{"Resize", import_resize},
          {"Upsample", import_resize},
          {"ConvTranspose", import_transposed_conv},
          {"DepthToSpace", import_depth<true>},
          {"SpaceToDepth", import_depth<false>}};
}

std::vector<ExportRow> resize_export_rows() {
  return {{&ops::upsample_op, export_upsample},
          {&ops::resize_op, export_resize},
          {&ops::conv2d_d_src_op, export_transposed_conv}};
}

}  // namespace trainyard::interchange
