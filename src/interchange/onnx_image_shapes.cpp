// The shapes that follow from ops on images: windows, other sizes, pads.

#include "interchange/onnx_facts.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

// Windows over (N, C, H, W) with `channels` results; other ranks and pads that are not written are left
// alone.
std::optional<TensorSpec> windowed(const TensorSpec& src, const onnx::Node& node, const Dims& kernel,
                                   std::int64_t channels) {
  if (rank_of(src) != 4 || kernel.size() != 2 || node.text("auto_pad", "NOTSET") != "NOTSET" ||
      node.integer("ceil_mode", 0) != 0)
    return std::nullopt;
  const auto pair = [&](const char* name, std::size_t i) {
    const Dims given = node.integers(name);
    return i < given.size() ? given[i] : std::int64_t{1};
  };
  const Dims pads = node.integers("pads");
  TensorSpec made = of_dims(src, {src.dims[0], channels});
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t dim = src.dims[i + 2], stride = pair("strides", i), dilation = pair("dilations", i);
    const std::int64_t before = pads.size() == 4 ? pads[i] : 0, after = pads.size() == 4 ? pads[i + 2] : 0;
    for (const std::int64_t number : {kernel[i], stride, dilation, before + 1, after + 1})
      if (number < 1 || number > kMaxWindow) return std::nullopt;
    const std::int64_t reach = (kernel[i] - 1) * dilation + 1;
    if (dim == kUnknown || dim + before + after < reach) return std::nullopt;
    made.dims.push_back((dim + before + after - reach) / stride + 1);
  }
  return made;
}

}  // namespace

std::optional<TensorSpec> convolved(const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec& weight = facts.input(1);
  if (rank_of(weight) != 4) return std::nullopt;
  return windowed(facts.input(0), node, {weight.dims[2], weight.dims[3]}, weight.dims[0]);
}

std::optional<TensorSpec> pooled(const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec& src = facts.input(0);
  if (rank_of(src) != 4) return std::nullopt;
  if (node.type.starts_with("Global")) return of_dims(src, {src.dims[0], src.dims[1], 1, 1});
  return windowed(src, node, node.integers("kernel_shape"), src.dims[1]);
}

// A file gives scales or sizes; where it has both, the sizes count, because scales may be rounded.
std::optional<TensorSpec> resized(const KnownValues& known, const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec& src = facts.input(0);
  if (!src.elements()) return std::nullopt;
  const auto numbers = [&](std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty() ? known.numbers(node.inputs[i]) : nullptr;
  };
  const bool is_resize = node.type == "Resize";
  std::shared_ptr<const std::vector<double>> sizes = is_resize ? numbers(3) : nullptr,
                                             scales = numbers(is_resize && node.inputs.size() > 2 ? 2 : 1);
  const onnx::Attribute* written = node.find("scales");
  if (scales == nullptr && written != nullptr)
    scales = std::make_shared<const std::vector<double>>(written->numbers);
  TensorSpec made = src;
  const auto& given = sizes != nullptr ? sizes : scales;
  if (given == nullptr || given->size() != src.dims.size() || node.find("axes") != nullptr)
    return std::nullopt;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const double size =
        sizes != nullptr ? (*sizes)[i] : std::floor((*scales)[i] * static_cast<double>(src.dims[i]) + 1e-3);
    if (!(size >= 1 && size <= static_cast<double>(kMaxElements))) return std::nullopt;
    made.dims[i] = static_cast<std::int64_t>(size);
  }
  return made.elements() ? std::optional(made) : std::nullopt;
}

std::optional<TensorSpec> padded(const NodeFacts& facts) {
  TensorSpec made = facts.input(0);
  const std::optional<Dims> pads = facts.integers(1, "pads");
  if (!made.has_shape || !pads || facts.inputs() > 3 || pads->size() != 2 * made.dims.size())
    return std::nullopt;
  for (std::size_t i = 0; i < made.dims.size(); ++i) {
    if (made.dims[i] == kUnknown) return std::nullopt;
    made.dims[i] += (*pads)[i] + (*pads)[i + made.dims.size()];
    if (made.dims[i] < 1 || made.dims[i] > kMaxElements) return std::nullopt;
  }
  return made;
}

}  // namespace trainyard::interchange
