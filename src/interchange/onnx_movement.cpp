// The ops that only move numbers, as functions from an element of the output to one of an input.

#include "interchange/onnx_known.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;
using Move = std::function<Origin(std::int64_t)>;

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// An affine map: element (x0, x1, ...) of the output is element first + sum of stride_i * x_i of the input.
Move affine(const Dims& output, Dims strides, std::int64_t first) {
  return [output, strides = std::move(strides), first](std::int64_t index) {
    std::int64_t at = first;
    for (std::size_t i = output.size(); i-- > 0;) {
      at += strides[i] * (index % output[i]);
      index /= output[i];
    }
    return Origin{0, at};
  };
}

Move transposed(const TensorSpec& src, const TensorSpec& dst, Dims order) {
  if (order.empty())
    for (std::size_t i = src.dims.size(); i > 0; --i) order.push_back(static_cast<std::int64_t>(i) - 1);
  const Dims from = strides_of(src.dims);
  Dims strides;
  for (const std::int64_t axis : order) strides.push_back(from[static_cast<std::size_t>(axis)]);
  return affine(dst.dims, strides, 0);
}

// Dimensions of one element are repeated.
Move expanded(const TensorSpec& src, const TensorSpec& dst) {
  const Dims from = strides_of(src.dims);
  Dims strides(dst.dims.size(), 0);
  const std::size_t shift = dst.dims.size() - src.dims.size();
  for (std::size_t i = 0; i < src.dims.size(); ++i)
    if (src.dims[i] != 1) strides[i + shift] = from[i];
  return affine(dst.dims, strides, 0);
}

Move joined(const std::vector<TensorSpec>& parts, const TensorSpec& dst, std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < dst.dims.size(); ++i) inner *= dst.dims[i];
  Dims sizes;
  for (const TensorSpec& part : parts) sizes.push_back(part.dims[axis]);
  return [inner, sizes, whole = dst.dims[axis]](std::int64_t index) {
    std::int64_t along = index / inner % whole;
    const std::int64_t outer = index / inner / whole;
    std::size_t part = 0;
    while (part + 1 < sizes.size() && along >= sizes[part]) along -= sizes[part++];
    return Origin{part, (outer * sizes[part] + along) * inner + index % inner};
  };
}

Move gathered(const TensorSpec& src, std::size_t axis, std::shared_ptr<const std::vector<double>> indices) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < src.dims.size(); ++i) inner *= src.dims[i];
  return [inner, dim = src.dims[axis], indices = std::move(indices)](std::int64_t index) {
    const auto count = static_cast<std::int64_t>(indices->size());
    const auto taken = static_cast<std::int64_t>((*indices)[static_cast<std::size_t>(index / inner % count)]);
    const std::int64_t outer = index / inner / count;
    return Origin{0, (outer * dim + (taken < 0 ? taken + dim : taken)) * inner + index % inner};
  };
}

// Any bytes may be given, so that a number need not be a whole one.
std::int64_t whole_of(double number) {
  return std::isnan(number) ? 0 : static_cast<std::int64_t>(std::clamp(number, -1e15, 1e15));
}

std::optional<std::size_t> axis_of(const onnx::Node& node, std::int64_t otherwise, const TensorSpec& spec) {
  const auto rank = static_cast<std::int64_t>(spec.dims.size());
  std::int64_t axis = node.integer("axis", otherwise);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), type) != names.end();
}

}  // namespace

std::optional<Move> KnownValues::movement(const onnx::Node& node, std::size_t output) const {
  if (node.inputs.empty() || output >= node.outputs.size()) return std::nullopt;
  const TensorSpec& src = spec(node.inputs[0]);
  const TensorSpec dst = followed_specs(node)[output];
  if (!src.elements() || !dst.elements() || *dst.elements() == 0) return std::nullopt;
  const Dims from = strides_of(src.dims);
  if (is_one_of(node.type, {"Identity", "Dropout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast"}))
    return *src.elements() == *dst.elements() ? std::optional<Move>([](std::int64_t index) {
      return Origin{0, index};
    })
                                              : std::nullopt;
  if (node.type == "Transpose") return transposed(src, dst, node.integers("perm"));
  if (node.type == "Expand" && dst.dims.size() >= src.dims.size()) return expanded(src, dst);
  if (node.type == "Slice" && node.inputs.size() > 1) {
    const auto starts = numbers(node.inputs[1]);
    const auto axes = node.inputs.size() > 3 ? numbers(node.inputs[3]) : nullptr;
    const auto steps = node.inputs.size() > 4 ? numbers(node.inputs[4]) : nullptr;
    if (starts == nullptr || dst.dims.size() != src.dims.size()) return std::nullopt;
    if (steps == nullptr && node.inputs.size() > 4) return std::nullopt;
    std::int64_t first = 0;
    Dims strides = from;
    for (std::size_t i = 0; i < starts->size(); ++i) {
      std::int64_t axis = axes != nullptr ? whole_of(axes->at(i)) : static_cast<std::int64_t>(i);
      if (axis < 0) axis += static_cast<std::int64_t>(src.dims.size());
      const auto at = static_cast<std::size_t>(axis);
      const std::int64_t step = steps != nullptr ? whole_of(steps->at(i)) : 1;
      const Section section = section_of(src.dims[at], whole_of((*starts)[i]), 0, step);
      first += section.begin * from[at];
      strides[at] *= section.step;
    }
    return affine(dst.dims, strides, first);
  }
  if (node.type == "Split") {
    const std::optional<std::size_t> axis = axis_of(node, 0, src);
    if (!axis) return std::nullopt;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < output; ++i) before += spec(node.outputs[i]).dims.at(*axis);
    return affine(dst.dims, from, before * from[*axis]);
  }
  if (node.type == "Concat") {
    std::vector<TensorSpec> parts;
    for (const std::string& input : node.inputs) {
      parts.push_back(spec(input));
      if (!parts.back().elements() || parts.back().dims.size() != dst.dims.size()) return std::nullopt;
    }
    const std::optional<std::size_t> axis = axis_of(node, 0, dst);
    return axis ? std::optional(joined(parts, dst, *axis)) : std::nullopt;
  }
  if (node.type == "Gather" && node.inputs.size() == 2) {
    const std::optional<std::size_t> axis = axis_of(node, 0, src);
    const auto indices = numbers(node.inputs[1]);
    if (!axis || indices == nullptr || indices->empty()) return std::nullopt;
    const auto dim = static_cast<double>(src.dims[*axis]);
    for (const double index : *indices)
      if (!(index >= -dim && index < dim)) return std::nullopt;
    return gathered(src, *axis, indices);
  }
  return std::nullopt;
}

}  // namespace trainyard::interchange
