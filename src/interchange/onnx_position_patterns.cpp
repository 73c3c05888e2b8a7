// Patterns of what tells steps their place: a table that is added to sequences, and rotary angles.

#include "interchange/onnx_patterns.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

// The angle of pair i at a step is step * base^(-2 i / size). Returns the base, where the tables of cosines
// and sines are of that form, and the axis of the steps.
struct Angles {
  double base;
  std::size_t axis;
};

std::optional<Angles> angles_of(const PatternGraph& graph, const std::string& cosine, const std::string& sine,
                                const Dims& dims) {
  const TensorSpec &spec = graph.known().spec(cosine), &other = graph.known().spec(sine);
  const auto cosines = graph.known().numbers(cosine), sines = graph.known().numbers(sine);
  if (cosines == nullptr || sines == nullptr || spec.dims != other.dims || spec.dims.size() > dims.size() ||
      spec.dims.empty() || spec.dims.back() != dims.back() || dims.back() < 2)
    return std::nullopt;
  const std::size_t shift = dims.size() - spec.dims.size();
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i + 1 < spec.dims.size(); ++i)
    if (spec.dims[i] != 1) {
      if (axis || spec.dims[i] != dims[i + shift]) return std::nullopt;
      axis = i + shift;
    }
  if (!axis) return std::nullopt;
  const std::int64_t size = dims.back(), half = size / 2, steps = dims[*axis];
  const auto at = [&](std::int64_t step, std::int64_t i) {
    return static_cast<std::size_t>(step * size + i);
  };
  double base = 1;
  if (half > 1)  // the angle of pair 1 at step 1
    base = std::pow(std::atan2((*sines)[at(1, 1)], (*cosines)[at(1, 1)]), -static_cast<double>(size) / 2);
  if (std::abs(base - std::round(base)) < 1e-3 * base) base = std::round(base);
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t i = 0; i < size; ++i) {
      const double angle = static_cast<double>(step) *
                           std::pow(base, -2.0 * static_cast<double>(i % half) / static_cast<double>(size));
      if (!(std::abs((*cosines)[at(step, i)] - std::cos(angle)) < 1e-3 &&
            std::abs((*sines)[at(step, i)] - std::sin(angle)) < 1e-3))
        return std::nullopt;
    }
  return Angles{base, *axis};
}

// Returns whether the value is (-b, a) where x is (a, b) along the last axis.
bool is_turned(const PatternGraph& graph, const std::string& value, const std::string& x) {
  const onnx::Node* joined = graph.maker(value, "Concat");
  if (joined == nullptr || joined->inputs.size() != 2) return false;
  const onnx::Node* negative = graph.maker(joined->inputs[0], "Neg");
  const auto move = graph.known().movement(*joined);
  const Dims& dims = graph.known().spec(x).dims;
  if (negative == nullptr || !move || dims.empty() || graph.known().spec(value).dims != dims) return false;
  const std::int64_t size = dims.back(), half = size / 2;
  Tracer tracer(graph);
  for (const std::int64_t row : tested_places(product(dims, 0, dims.size() - 1)))
    for (std::int64_t i = 0; i < size; ++i) {
      const Origin origin = (*move)(row * size + i);
      const std::string& from = origin.input == 0 ? negative->inputs[0] : joined->inputs[1];
      const Place place = tracer.trace(from, origin.index, x);
      if ((origin.input == 0) != (i < half) || place.source != x ||
          place.index != row * size + (i < half ? i + half : i - half))
        return false;
    }
  return true;
}

// x cos + (-b, a) sin
bool match_rotary(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Add" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {0, 1}) {
    const onnx::Node *plain = graph.maker(last.inputs[i], "Mul"),
                     *turned = graph.maker(last.inputs[1 - i], "Mul");
    if (plain == nullptr || turned == nullptr || plain->inputs.size() != 2 || turned->inputs.size() != 2)
      continue;
    for (const std::size_t j : {0, 1})
      for (const std::size_t k : {0, 1}) {
        const std::string& x = plain->inputs[j];
        if (!is_turned(graph, turned->inputs[k], x)) continue;
        const auto angles =
            angles_of(graph, plain->inputs[1 - j], turned->inputs[1 - k], graph.known().spec(x).dims);
        if (!angles) continue;
        graph.replace(place, fused_node(last, "Rotary", kOwnDomain, {x},
                                        {attribute("base", angles->base),
                                         attribute("axis", static_cast<std::int64_t>(angles->axis))}));
        return true;
      }
  }
  return false;
}

bool is_weight(const PatternGraph& graph, const std::string& value) {
  const TensorSpec& spec = graph.known().spec(value);
  return graph.maker(value) == nullptr && spec.elements() && spec.dims.size() >= 2 &&
         spec.dtype.starts_with('f');
}

// Returns whether the value is rather a mask than a table that is trained.
bool hides(const PatternGraph& graph, const std::string& value) {
  const auto numbers = graph.known().numbers(value);
  return numbers != nullptr &&
         std::any_of(numbers->begin(), numbers->end(), [](double number) { return !(number > kHidden); });
}

// Returns the weight whose first rows the value holds, one for each of `steps` steps.
std::optional<std::string> first_rows(const PatternGraph& graph, const std::string& value, std::int64_t steps,
                                      std::int64_t width) {
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 20;
  if (steps < 1 || steps > kMostSteps || graph.known().spec(value).elements() != std::optional(steps * width))
    return std::nullopt;
  Tracer tracer(graph);
  const Place first = tracer.trace(value, 0);
  const TensorSpec& table = graph.known().spec(first.source);
  if (!is_weight(graph, first.source) || table.dims.back() != width || hides(graph, first.source))
    return std::nullopt;
  for (std::int64_t step = 0; step < steps; ++step)
    for (const std::int64_t column : tested_places(width))
      if (const Place place = tracer.trace(value, step * width + column);
          place.source != first.source || place.index != step * width + column)
        return std::nullopt;
  return first.source;
}

// x + table, where x is (sequences, steps, width) or (steps, sequences, width) and the table is broadcast
bool match_positions(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Add" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {1, 0}) {
    const TensorSpec &x = graph.known().spec(last.inputs[1 - i]), &table = graph.known().spec(last.inputs[i]);
    if (x.dims.size() != 3 || !x.elements() || table.dims.empty() || table.dims.size() > 3 ||
        table.dims.back() != x.dims[2] || is_weight(graph, last.inputs[1 - i]))
      continue;
    Dims dims = table.dims;
    dims.insert(dims.begin(), 3 - dims.size(), 1);
    const bool batch_first = dims[0] == 1;
    const std::int64_t steps = batch_first ? dims[1] : dims[0];
    if ((!batch_first && dims[1] != 1) || steps != x.dims[batch_first ? 1 : 0]) continue;
    const auto weight = first_rows(graph, last.inputs[i], steps, x.dims[2]);
    if (!weight) continue;
    const TensorSpec& whole = graph.known().spec(*weight);
    graph.replace(place,
                  fused_node(last, "Positions", kOwnDomain, {last.inputs[1 - i], *weight},
                             {attribute("steps", steps), attribute("batch_first", std::int64_t{batch_first}),
                              attribute("positions", *whole.elements() / whole.dims.back())}));
    return true;
  }
  return false;
}

// The same between two ops that make sequences of rows, and rows again.
bool match_positions_of_rows(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  const onnx::Node* positions = last.type == "Reshape" ? graph.maker(last.inputs.at(0)) : nullptr;
  if (positions == nullptr || positions->type != "Positions" || positions->domain != kOwnDomain) return false;
  const onnx::Node* before = graph.maker(positions->inputs[0], "Reshape");
  if (before == nullptr || graph.sole_reader(positions->outputs[0]) == nullptr) return false;
  const Dims& dims = graph.known().spec(before->inputs.at(0)).dims;
  if (dims.size() != 2 || dims != graph.known().spec(last.outputs.at(0)).dims ||
      dims.back() != graph.known().spec(positions->outputs[0]).dims.back())
    return false;
  onnx::Node node = *positions;
  node.name = last.name;
  node.inputs[0] = before->inputs[0];
  node.outputs = {last.outputs[0]};
  graph.replace(place, std::move(node));
  return true;
}

}  // namespace

std::vector<PatternRow> rotary_patterns() { return {{"rotary positions", match_rotary}}; }

std::vector<PatternRow> position_patterns() {
  return {{"positions", match_positions}, {nullptr, match_positions_of_rows}};
}

}  // namespace trainyard::interchange
