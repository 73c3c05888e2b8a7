// This file maps reductions over any axes: sums, and what is made of them.

#include "interchange/onnx_rules.h"
#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
using ops::PointwiseKind;

// The axes over which a reduction goes, all of them where the node names none.
std::vector<bool> reduced_axes(ImportContext& context, const onnx::Node& node, int rank) {
  const std::vector<std::int64_t> axes =
      context.has(node, 1) ? context.integers(node, 1) : node.integers("axes");
  std::vector<bool> reduced(static_cast<std::size_t>(rank),
                            axes.empty() && node.integer("noop_with_empty_axes", 0) == 0);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(checked_axis(axis, rank))] = true;
  return reduced;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keeps) {
  Shape made;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = reduced[static_cast<std::size_t>(axis)];
    if (!gone || keeps) made.append(gone ? 1 : shape[axis]);
  }
  return made;
}

// The mean over the pixels of images has an op of its own.
ValueId mean_of(graph::Graph& graph, const std::string& name, ValueId src, const Shape& to) {
  const Shape& from = graph.shape(src);
  if (from.rank() == 4 && to == Shape{from[0], from[1], 1, 1})
    return ops::global_average_pool(graph, name, src);
  const auto count = static_cast<double>(from.elements() / std::max<std::int64_t>(1, to.elements()));
  return ops::scale(graph, name + "/share", ops::sum(graph, name, src, to), 1 / count);
}

// Only the pixels of an image are searched, by a pool.
ValueId greatest_of(graph::Graph& graph, const std::string& name, ValueId src, const Shape& to) {
  const Shape& from = graph.shape(src);
  if (from.rank() != 4 || !(to == Shape{from[0], from[1], 1, 1}))
    ImportContext::decline("only the greatest of the pixels of an image is ours");
  return ops::max_pool(graph, name, src, {.kernel_h = from[2], .kernel_w = from[3]});
}

enum class Reduction : std::uint8_t { sum, mean, most, absolute, square, root, log, log_of_exp };

ValueId reduce(graph::Graph& graph, const std::string& name, Reduction kind, ValueId src, const Shape& to) {
  const auto apply = [&](const char* what, ValueId value, PointwiseKind function) {
    return ops::pointwise(graph, name + what, value, {function});
  };
  switch (kind) {
    case Reduction::sum:
      return ops::sum(graph, name, src, to);
    case Reduction::mean:
      return mean_of(graph, name, src, to);
    case Reduction::most:
      return greatest_of(graph, name, src, to);
    case Reduction::absolute:
      return ops::sum(graph, name, apply("/absolute", src, PointwiseKind::absolute), to);
    case Reduction::square:
      return ops::sum(graph, name, ops::multiply(graph, name + "/square", src, src), to);
    case Reduction::root:
      return apply("/root", reduce(graph, name, Reduction::square, src, to), PointwiseKind::sqrt);
    case Reduction::log:
      return apply("/log", ops::sum(graph, name, src, to), PointwiseKind::log);
    case Reduction::log_of_exp:
      return reduce(graph, name, Reduction::log, apply("/exp", src, PointwiseKind::exp), to);
  }
  return src;
}

template <Reduction kind>
ValueId import_reduction(ImportContext& context, const onnx::Node& node) {
  const ValueId src = context.tensor(node, 0);
  const Shape shape = context.graph().shape(src);
  const std::vector<bool> reduced = reduced_axes(context, node, shape.rank());
  const std::string name = context.name(node);
  const ValueId made = reduce(context.graph(), name, kind, src, reduced_shape(shape, reduced, true));
  if (node.integer("keepdims", 1) != 0) return made;
  return ops::reshape(context.graph(), name + "/reduced", made, reduced_shape(shape, reduced, false));
}

void export_sum(ExportContext& context, const graph::Node& node) {
  const Shape &src = context.graph().shape(node.inputs[0]), &dst = context.graph().shape(node.outputs[0]);
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < dst.rank(); ++axis)
    if (src[axis] != dst[axis]) axes.push_back(axis);
  if (axes.empty()) return context.add(node, "Identity", {context.input(node, 0)});
  context.add(node, "ReduceSum", {context.input(node, 0), context.constant(node, "axes", axes)});
}

}  // namespace

std::vector<ImportRow> reduction_import_rows() {
  return {{"ReduceSum", import_reduction<Reduction::sum>},
          {"ReduceMean", import_reduction<Reduction::mean>},
          {"ReduceMax", import_reduction<Reduction::most>},
          {"ReduceL1", import_reduction<Reduction::absolute>},
          {"ReduceL2", import_reduction<Reduction::root>},
          {"ReduceSumSquare", import_reduction<Reduction::square>},
          {"ReduceLogSum", import_reduction<Reduction::log>},
          {"ReduceLogSumExp", import_reduction<Reduction::log_of_exp>}};
}

std::vector<ExportRow> reduction_export_rows() { return {{&ops::sum_op, export_sum}}; }

}  // namespace trainyard::interchange
