// This file maps ops that take parts of a tensor, or put something around it.

#include "interchange/onnx_rules.h"
#include "interchange/text_format.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;

constexpr std::int64_t kMostParts = 256;  // that one node is cut into

std::vector<std::int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Shape zeros_like(const Shape& shape) {
  Shape made;
  for (int axis = 0; axis < shape.rank(); ++axis) made.append(0);
  return made;
}

// Returns `size` places along an axis, from `begin` on.
ValueId cut(graph::Graph& graph, const std::string& name, ValueId src, int axis, std::int64_t begin,
            std::int64_t size) {
  Shape box = graph.shape(src), corner = zeros_like(box);
  if (begin == 0 && size == box[axis]) return src;
  corner[axis] = begin;
  box[axis] = size;
  return ops::slice(graph, name, src, corner, box);
}

ValueId join(graph::Graph& graph, const std::string& name, std::vector<ValueId> parts, int axis) {
  return parts.size() == 1 ? parts[0] : ops::concat(graph, name, std::move(parts), axis);
}

// Returns these places along an axis, in this order: neighbours are one part.
ValueId take(graph::Graph& graph, const std::string& name, ValueId src, int axis,
             const std::vector<std::int64_t>& places) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0, next = 0; i < places.size(); i = next) {
    for (next = i + 1; next < places.size() && places[next] == places[next - 1] + 1;) ++next;
    if (parts.size() == kMostParts) ImportContext::decline("it takes more than {} parts", kMostParts);
    parts.push_back(cut(graph, name, src, axis, places[i], static_cast<std::int64_t>(next - i)));
  }
  if (parts.empty()) ImportContext::decline("nothing is left of axis {}", axis);
  return join(graph, name + "/parts", std::move(parts), axis);
}

// Every so many-th place of an axis: the axis is split in two, of which one place of the inner one stays.
ValueId take_every(graph::Graph& graph, const std::string& name, ValueId src, int axis, std::int64_t step) {
  Shape shape = graph.shape(src);
  const std::int64_t count = (shape[axis] + step - 1) / step;
  if (count * step != shape[axis]) {
    Shape before = zeros_like(shape), after = before;
    after[axis] = count * step - shape[axis];
    src = ops::pad(graph, name + "/whole", src, before, after);
  }
  Shape split, made = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    split.append(i == axis ? count : shape[i]);
    if (i == axis && split.rank() == Shape::kMaxRank) ImportContext::decline("{} dimensions", shape.rank());
    if (i == axis) split.append(step);
  }
  if (shape.rank() == Shape::kMaxRank) ImportContext::decline("{} dimensions", shape.rank());
  made[axis] = count;
  const ValueId first = cut(graph, name, ops::reshape(graph, name + "/split", src, split), axis + 1, 0, 1);
  return ops::reshape(graph, name + "/every", first, made);
}

// One axis of a slice.
ValueId slice_axis(graph::Graph& graph, const std::string& name, ValueId src, int axis,
                   const Section& section) {
  if (section.count < 1) ImportContext::decline("nothing is left of axis {}", axis);
  if (section.count == 1) return cut(graph, name, src, axis, section.begin, 1);
  if (section.step > 0) {
    const std::int64_t dim = graph.shape(src)[axis];
    const std::int64_t reach = std::min(dim - section.begin, section.count * section.step);
    const ValueId whole =
        cut(graph, name, src, axis, section.begin, section.step == 1 ? section.count : reach);
    return section.step == 1 ? whole : take_every(graph, name, whole, axis, section.step);
  }
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < section.count && i <= kMostParts; ++i)
    places.push_back(section.begin + i * section.step);
  return take(graph, name, src, axis, places);
}

// The bounds are attributes until set 9 of operators, then inputs.
ValueId import_slice(ImportContext& context, const onnx::Node& node) {
  const bool by_inputs = context.has(node, 1);
  const auto numbers = [&](std::size_t input, const char* name) {
    return !by_inputs                 ? node.integers(name)
           : context.has(node, input) ? context.integers(node, input)
                                      : std::vector<std::int64_t>{};
  };
  const std::vector<std::int64_t> starts = numbers(1, "starts"), ends = numbers(2, "ends");
  std::vector<std::int64_t> axes = numbers(3, "axes"), steps = numbers(4, "");
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    context.decline("{} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(), axes.size(),
                    steps.size());
  graph::Graph& graph = context.graph();
  ValueId made = context.tensor(node, 0);
  // Whole axes stay one box.
  Shape begin = zeros_like(graph.shape(made)), size = graph.shape(made);
  std::vector<std::pair<int, Section>> apart;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis = checked_axis(axes[i], size.rank());
    if (steps[i] == 0) context.decline("it takes steps of 0");
    const Section section = section_of(graph.shape(made)[axis], starts[i], ends[i], steps[i]);
    if (section.count < 1) context.decline("nothing is left of axis {}", axis);
    if (section.step != 1) {
      apart.emplace_back(axis, section);
      continue;
    }
    begin[axis] = section.begin;
    size[axis] = section.count;
  }
  if (apart.empty() || !(size == graph.shape(made)))
    made = ops::slice(graph, context.name(node), made, begin, size);
  for (const auto& [axis, section] : apart) made = slice_axis(graph, context.name(node), made, axis, section);
  return made;
}

// The first of several outputs is returned, the others are kept.
ValueId import_split(ImportContext& context, const onnx::Node& node) {
  const ValueId src = context.tensor(node, 0);
  const Shape whole = context.graph().shape(src);
  const int axis = checked_axis(node.integer("axis", 0), whole.rank());
  std::int64_t at = 0;
  std::vector<ValueId> made;
  for (const std::string& output : node.outputs) {
    const TensorSpec& part = context.known().spec(output);
    if (part.dims.size() != static_cast<std::size_t>(whole.rank()))
      context.decline("its parts are not known");
    Shape begin, size = whole;
    for (int i = 0; i < whole.rank(); ++i) begin.append(0);
    begin[axis] = at;
    size[axis] = part.dims[static_cast<std::size_t>(axis)];
    at += size[axis];
    if (size[axis] < 1 || at > whole[axis]) context.decline("its parts are not those of its input");
    made.push_back(ops::slice(context.graph(), context.name(node), src, begin, size));
    context.set_value(output, made.back());
  }
  return made.front();
}

void export_slice(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::SliceAttrs>();
  // Axes that stay whole are not named, so that a reader may choose another batch.
  const Shape& src = context.graph().shape(node.inputs[0]);
  std::vector<std::int64_t> begins, ends, axes;
  for (int axis = 0; axis < attrs.begin.rank(); ++axis) {
    if (attrs.size[axis] == src[axis]) continue;
    begins.push_back(attrs.begin[axis]);
    ends.push_back(attrs.begin[axis] + attrs.size[axis]);
    axes.push_back(axis);
  }
  if (axes.empty()) return context.add(node, "Identity", {context.input(node, 0)});
  context.add(node, "Slice",
              {context.input(node, 0), context.constant(node, "begin", begins),
               context.constant(node, "end", ends), context.constant(node, "axes", axes)});
}

void export_pad(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::PadAttrs>();
  std::vector<std::int64_t> pads = dims_of(attrs.before);
  pads.insert(pads.end(), attrs.after.begin(), attrs.after.end());
  context.add(node, "Pad", {context.input(node, 0), context.constant(node, "pads", pads)});
}

// Numbers are mirrored at the first and last one, which are not repeated, or repeat those.
ValueId pad_by_copies(ImportContext& context, const onnx::Node& node, ValueId src, bool mirrors,
                      const Shape& before, const Shape& after) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  for (int axis = 0; axis < before.rank(); ++axis) {
    const std::int64_t dim = graph.shape(src)[axis];
    if (before[axis] == 0 && after[axis] == 0) continue;
    if (mirrors && std::max(before[axis], after[axis]) >= dim)
      context.decline("it mirrors more than there is of axis {}", axis);
    std::vector<std::int64_t> places;
    if (before[axis] + dim + after[axis] > 2 * kMostParts + dim) context.decline("it has too many pads");
    for (std::int64_t at = -before[axis]; at < dim + after[axis]; ++at)
      places.push_back(!mirrors   ? std::clamp<std::int64_t>(at, 0, dim - 1)
                       : at < 0   ? -at
                       : at < dim ? at
                                  : 2 * dim - 2 - at);
    src = take(graph, name, src, axis, places);
  }
  return src;
}

// Negative pads take away.
ValueId cropped(graph::Graph& graph, const std::string& name, ValueId src, Shape& before, Shape& after) {
  Shape begin = zeros_like(before), size = graph.shape(src);
  const Shape whole = size;
  for (int axis = 0; axis < size.rank(); ++axis)
    for (Shape* side : {&before, &after}) {
      std::int64_t& pad = (*side)[axis];
      if (pad >= 0) continue;
      if (side == &before) begin[axis] = -pad;
      size[axis] += pad;
      pad = 0;
      if (size[axis] < 1) ImportContext::decline("nothing is left of axis {}", axis);
    }
  return size == whole ? src : ops::slice(graph, name + "/cropped", src, begin, size);
}

ValueId import_pad(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node), mode = node.text("mode", "constant");
  const onnx::Tensor* fill = context.has(node, 2) ? context.constant(node.inputs[2]) : nullptr;
  if (context.has(node, 2) && (fill == nullptr || fill->numbers.size() != 1))
    context.decline("what it fills in is no constant");
  ValueId src = context.tensor(node, 0);
  const Shape shape = graph.shape(src);
  const std::vector<std::int64_t> pads = context.has(node, 1)           ? context.integers(node, 1)
                                         : node.find("pads") != nullptr ? node.integers("pads")
                                                                        : node.integers("paddings");
  std::vector<std::int64_t> axes;
  if (context.has(node, 3)) axes = context.integers(node, 3);
  if (!context.has(node, 3))
    for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  if (pads.size() != 2 * axes.size()) context.decline("{} pads for {}", pads.size(), shape.to_string());
  Shape before = zeros_like(shape), after = before, padded = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const std::int64_t pad : {pads[i], pads[i + axes.size()]})
      if (pad < -kMaxElements || pad > kMaxElements) context.decline("a pad of {}", pad);
    const int axis = checked_axis(axes[i], shape.rank());
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
    padded[axis] += before[axis] + after[axis];
    if (padded[axis] < 1) context.decline("nothing is left of axis {}", axis);
  }
  context.want_elements(padded);
  src = cropped(graph, name, src, before, after);
  if (mode == "reflect" || mode == "edge")
    return pad_by_copies(context, node, src, mode == "reflect", before, after);
  if (mode != "constant") context.decline("mode {} is not ours", mode.substr(0, 32));
  const double value = fill != nullptr ? fill->numbers[0] : node.number("value", 0);
  if (value == 0) return ops::pad(graph, name, src, before, after);
  if (!std::isfinite(value)) context.decline("it fills in {}", value);
  const auto moved = [&](const char* what, ValueId x, double offset) {
    return ops::pointwise(graph, name + what, x, {ops::PointwiseKind::linear, 1, offset});
  };
  return moved("/filled", ops::pad(graph, name, moved("/less", src, -value), before, after), value);
}

// Constant places along an axis: a class token, a last step, channels in another order.
ValueId take_places(ImportContext& context, const onnx::Node& node) {
  graph::Graph& graph = context.graph();
  const std::string name = context.name(node);
  const ValueId src = context.tensor(node, 0);
  const Shape shape = graph.shape(src);
  const int axis = checked_axis(node.integer("axis", 0), shape.rank());
  std::vector<std::int64_t> places = context.integers(node, 1);
  for (std::int64_t& place : places) {
    if (place < -shape[axis] || place >= shape[axis]) context.decline("place {} of {}", place, shape[axis]);
    if (place < 0) place += shape[axis];
  }
  const std::vector<std::int64_t>& dims = context.constant(node.inputs[1])->dims;
  Shape made;
  if (static_cast<std::size_t>(shape.rank() - 1) + dims.size() > Shape::kMaxRank)
    context.decline("{} dimensions", static_cast<std::size_t>(shape.rank() - 1) + dims.size());
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) made.append(shape[i]);
    if (i == axis)
      for (const std::int64_t dim : dims) made.append(dim);
  }
  const ValueId taken = take(graph, name, src, axis, places);
  return graph.shape(taken) == made ? taken : ops::reshape(graph, name + "/places", taken, made);
}

ValueId import_tile(ImportContext& context, const onnx::Node& node) {
  ValueId made = context.tensor(node, 0);
  Shape whole = context.graph().shape(made);
  const std::vector<std::int64_t> copies = context.integers(node, 1);
  if (copies.size() != static_cast<std::size_t>(whole.rank()))
    context.decline("{} repeats of {}", copies.size(), whole.to_string());
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const std::int64_t count = copies[static_cast<std::size_t>(axis)];
    if (count < 1 || count > kMostParts) context.decline("{} repeats", count);
    whole[axis] *= count;
  }
  context.want_elements(whole);
  for (int axis = 0; axis < whole.rank(); ++axis)
    made = join(context.graph(), context.name(node),
                std::vector(static_cast<std::size_t>(copies[static_cast<std::size_t>(axis)]), made), axis);
  return made;
}

}  // namespace

ValueId import_places(ImportContext& context, const onnx::Node& node) { return take_places(context, node); }

std::vector<ImportRow> cut_import_rows() {
  return {{"Slice", import_slice}, {"Pad", import_pad}, {"Split", import_split}, {"Tile", import_tile}};
}

std::vector<ExportRow> cut_export_rows() {
  return {{&ops::slice_op, export_slice}, {&ops::pad_op, export_pad}};
}

}  // namespace trainyard::interchange
