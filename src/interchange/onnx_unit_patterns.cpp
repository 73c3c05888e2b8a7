// Norms and units of smooth form that are written as several ops, one pattern a function.

#include "interchange/onnx_patterns.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

using Strings = std::vector<std::string>;

constexpr double kNear = 1e-4;  // constants may be those of f16

bool is_near(double number, double wanted) { return std::abs(number - wanted) <= kNear * std::abs(wanted); }

// Returns the value whose square this is.
std::optional<std::string> squared(const PatternGraph& graph, const std::string& value) {
  if (const onnx::Node* product = graph.maker(value, "Mul");
      product != nullptr && product->inputs.size() == 2 && product->inputs[0] == product->inputs[1])
    return product->inputs[0];
  const onnx::Node* power = graph.maker(value, "Pow");
  const auto parts = graph.with_number(power);
  return parts && parts->place == 1 && parts->number == 2 ? std::optional(parts->value) : std::nullopt;
}

// Returns the value whose mean over the last axis this is.
std::optional<std::string> mean_of(const PatternGraph& graph, const std::string& value) {
  const onnx::Node* mean = graph.maker(value, "ReduceMean");
  if (mean == nullptr || mean->integer("keepdims", 1) != 1) return std::nullopt;
  std::vector<std::int64_t> axes = mean->integers("axes");
  if (mean->inputs.size() > 1)
    if (const std::optional<double> axis = graph.known().number(mean->inputs[1]))
      axes = {static_cast<std::int64_t>(*axis)};
  const auto rank = static_cast<std::int64_t>(graph.known().spec(mean->inputs[0]).dims.size());
  if (axes.size() != 1 || (axes[0] != -1 && axes[0] != rank - 1)) return std::nullopt;
  return mean->inputs[0];
}

struct Root {
  std::string square_mean_of;  // the value of whose squares the mean is taken
  double epsilon;
};

// sqrt(mean(x^2) + epsilon)
std::optional<Root> root_of_mean_square(const PatternGraph& graph, const std::string& value) {
  const onnx::Node* root = graph.maker(value, "Sqrt");
  const auto sum = root == nullptr ? std::nullopt : graph.with_number(graph.maker(root->inputs[0], "Add"));
  const auto squares = sum ? mean_of(graph, sum->value) : std::nullopt;
  const auto of = squares ? squared(graph, *squares) : std::nullopt;
  return of ? std::optional(Root{*of, sum->number}) : std::nullopt;
}

// x / root, or x * (1 / root): returns x and the root.
std::optional<std::pair<std::string, Root>> normalised(const PatternGraph& graph, const std::string& value) {
  if (const onnx::Node* quotient = graph.maker(value, "Div"); quotient != nullptr) {
    const auto root = root_of_mean_square(graph, quotient->inputs[1]);
    return root ? std::optional(std::pair(quotient->inputs[0], *root)) : std::nullopt;
  }
  const onnx::Node* product = graph.maker(value, "Mul");
  if (product == nullptr || product->inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {1, 0}) {
    std::string root;
    if (const onnx::Node* inverse = graph.maker(product->inputs[i], "Reciprocal"))
      root = inverse->inputs[0];
    else if (const onnx::Node* one = graph.maker(product->inputs[i], "Div");
             one != nullptr && graph.known().number(one->inputs[0]) == 1.0)
      root = one->inputs[1];
    if (const auto found = root_of_mean_square(graph, root)) return std::pair(product->inputs[1 - i], *found);
  }
  return std::nullopt;
}

// Returns whether the value holds one number for each of the last axis of `like`.
bool is_vector(const PatternGraph& graph, const std::string& value, const std::string& like) {
  const TensorSpec &spec = graph.known().spec(value), &src = graph.known().spec(like);
  return spec.dims.size() == 1 && !src.dims.empty() && spec.dims[0] == src.dims.back() &&
         graph.maker(value) == nullptr;
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gamma + beta
bool match_layer_norm(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Add" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {0, 1}) {
    const onnx::Node* scaled = graph.maker(last.inputs[i], "Mul");
    if (scaled == nullptr || scaled->inputs.size() != 2) continue;
    for (const std::size_t j : {0, 1}) {
      const auto found = normalised(graph, scaled->inputs[j]);
      const onnx::Node* centred = found ? graph.maker(found->first, "Sub") : nullptr;
      const onnx::Node* also = found ? graph.maker(found->second.square_mean_of, "Sub") : nullptr;
      if (centred == nullptr || also == nullptr || centred->inputs != also->inputs) continue;
      const auto mean = mean_of(graph, centred->inputs[1]);
      const std::string &gamma = scaled->inputs[1 - j], &beta = last.inputs[1 - i];
      if (!mean || *mean != centred->inputs[0] || !is_vector(graph, gamma, *mean) ||
          !is_vector(graph, beta, *mean))
        continue;
      onnx::Node node = fused_node(last, "LayerNormalization", "", {*mean, gamma, beta});
      node.attributes = {attribute("epsilon", found->second.epsilon)};
      graph.replace(place, std::move(node));
      return true;
    }
  }
  return false;
}

// x - mean(x)
bool is_centred(const PatternGraph& graph, const std::string& value) {
  const onnx::Node* difference = graph.maker(value, "Sub");
  if (difference == nullptr) return false;
  const auto mean = mean_of(graph, difference->inputs[1]);
  return mean && *mean == difference->inputs[0];
}

// x / sqrt(mean(x^2) + epsilon) * gamma
bool match_rms_norm(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Mul" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {0, 1}) {
    const auto found = normalised(graph, last.inputs[i]);
    const std::string& gamma = last.inputs[1 - i];
    if (!found || found->first != found->second.square_mean_of || !is_vector(graph, gamma, found->first))
      continue;
    if (is_centred(graph, found->first)) continue;  // part of a layer norm
    onnx::Node node = fused_node(last, "RMSNormalization", "", {found->first, gamma});
    node.attributes = {attribute("epsilon", found->second.epsilon)};
    graph.replace(place, std::move(node));
    return true;
  }
  return false;
}

// A product of several values, in any order of multiplication.
struct Factors {
  double number = 1;
  Strings values;
};

void collect_factors(const PatternGraph& graph, const std::string& value, int depth, Factors& factors) {
  const onnx::Node* product = graph.maker(value, "Mul");
  if (const std::optional<double> number = graph.known().number(value)) {
    factors.number *= *number;
  } else if (depth > 0 && product != nullptr && product->inputs.size() == 2) {
    for (const std::string& input : product->inputs) collect_factors(graph, input, depth - 1, factors);
  } else {
    factors.values.push_back(value);
  }
}

Factors factors_of(const PatternGraph& graph, const std::string& value, int depth) {
  Factors factors;
  collect_factors(graph, value, depth, factors);
  return factors;
}

// The argument of erf is x / sqrt(2).
bool is_erf_of(const PatternGraph& graph, const std::string& value, const std::string& x) {
  const onnx::Node* erf = graph.maker(value, "Erf");
  if (erf == nullptr) return false;
  const std::string& scaled = erf->inputs[0];
  if (const auto quotient = graph.with_number(graph.maker(scaled, "Div")))
    return quotient->place == 1 && quotient->value == x && is_near(quotient->number, std::sqrt(2.0));
  const Factors factors = factors_of(graph, scaled, 2);
  return factors.values == Strings{x} && is_near(factors.number, 1 / std::sqrt(2.0));
}

// x^3, as a power or as products.
bool is_cube_of(const PatternGraph& graph, const std::string& value, const std::string& x, double factor) {
  Factors factors = factors_of(graph, value, 3);
  if (factors.values.size() == 1) {
    const auto power = graph.with_number(graph.maker(factors.values[0], "Pow"));
    return power && power->place == 1 && power->number == 3 && power->value == x &&
           is_near(factors.number, factor);
  }
  if (factors.values.size() == 2 && factors.values[0] != x) std::swap(factors.values[0], factors.values[1]);
  if (factors.values.size() == 2 && squared(graph, factors.values[1]) == x) factors.values = {x, x, x};
  return factors.values == Strings{x, x, x} && is_near(factors.number, factor);
}

// The argument of tanh is sqrt(2 / pi) (x + 0.044715 x^3).
bool is_tanh_of(const PatternGraph& graph, const std::string& value, const std::string& x) {
  const onnx::Node* tanh = graph.maker(value, "Tanh");
  if (tanh == nullptr) return false;
  const Factors factors = factors_of(graph, tanh->inputs[0], 2);
  const onnx::Node* sum = factors.values.size() == 1 ? graph.maker(factors.values[0], "Add") : nullptr;
  if (sum == nullptr || !is_near(factors.number, std::sqrt(2 / std::numbers::pi))) return false;
  const auto bent = PatternGraph::other(*sum, x);
  return bent && is_cube_of(graph, *bent, x, 0.044715);
}

// x * (1 + erf(...)) / 2, and the same with tanh
bool match_gelu(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Mul" || !last.domain.empty()) return false;
  const Factors factors = factors_of(graph, last.outputs.at(0), 3);
  if (factors.values.size() != 2 || !is_near(factors.number, 0.5)) return false;
  for (const std::size_t i : {0, 1}) {
    const std::string& x = factors.values[i];
    const auto sum = graph.with_number(graph.maker(factors.values[1 - i], "Add"));
    if (!sum || sum->number != 1) continue;
    const bool exact = is_erf_of(graph, sum->value, x);
    if (!exact && !is_tanh_of(graph, sum->value, x)) continue;
    onnx::Node node = fused_node(last, "Gelu", "", {x});
    node.attributes = {
        {.name = "approximate", .kind = onnx::Attribute::Kind::text, .text = exact ? "none" : "tanh"}};
    graph.replace(place, std::move(node));
    return true;
  }
  return false;
}

// x * sigmoid(x)
bool match_silu(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Mul" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {0, 1}) {
    const onnx::Node* sigmoid = graph.maker(last.inputs[i], "Sigmoid");
    if (sigmoid == nullptr || sigmoid->inputs[0] != last.inputs[1 - i]) continue;
    graph.replace(place, fused_node(last, "Silu", kOwnDomain, {sigmoid->inputs[0]}));
    return true;
  }
  return false;
}

// Returns where the first element of a value comes from, when the value is one half of each row of another.
std::optional<std::pair<std::string, std::int64_t>> half_of_rows(const PatternGraph& graph,
                                                                 const std::string& value) {
  const onnx::Node* cut = graph.maker(value);
  if (cut == nullptr || (cut->type != "Slice" && cut->type != "Split")) return std::nullopt;
  const auto output = std::find(cut->outputs.begin(), cut->outputs.end(), value) - cut->outputs.begin();
  const auto move = graph.known().movement(*cut, static_cast<std::size_t>(output));
  const TensorSpec &whole = graph.known().spec(cut->inputs[0]), &part = graph.known().spec(value);
  if (!move || whole.dims.size() != part.dims.size() || 2 * part.dims.back() != whole.dims.back())
    return std::nullopt;
  for (std::size_t i = 0; i + 1 < whole.dims.size(); ++i)
    if (whole.dims[i] != part.dims[i]) return std::nullopt;
  return std::pair(cut->inputs[0], (*move)(0).index);
}

// f(a) * b, where a and b are the halves of each row
bool match_gated(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "Mul" || last.inputs.size() != 2) return false;
  for (const std::size_t i : {0, 1}) {
    const onnx::Node* unit = graph.maker(last.inputs[i]);
    const bool is_unit =
        unit != nullptr && (unit->type == "Gelu" || (unit->type == "Silu" && unit->domain == kOwnDomain));
    if (!is_unit) continue;
    const auto a = half_of_rows(graph, unit->inputs[0]), b = half_of_rows(graph, last.inputs[1 - i]);
    if (!a || !b || a->first != b->first || a->second != 0 || b->second == 0) continue;
    onnx::Node node = fused_node(last, "Gated", kOwnDomain, {a->first});
    node.attributes = unit->attributes;
    graph.replace(place, std::move(node));
    return true;
  }
  return false;
}

// x W^T, where W^T is a node of its own
bool match_transposed_weight(PatternGraph& graph, std::size_t place) {
  const onnx::Node& last = graph.node(place);
  if (last.type != "MatMul" || last.inputs.size() != 2) return false;
  const onnx::Node* transpose = graph.maker(last.inputs[1], "Transpose");
  if (transpose == nullptr || graph.maker(transpose->inputs[0]) != nullptr ||
      graph.known().spec(transpose->inputs[0]).dims.size() != 2)
    return false;
  if (!transpose->integers("perm").empty() && transpose->integers("perm") != std::vector<std::int64_t>{1, 0})
    return false;
  onnx::Node node = fused_node(last, "Linear", kOwnDomain, {last.inputs[0], transpose->inputs[0]});
  graph.replace(place, std::move(node));
  return true;
}

}  // namespace

std::vector<PatternRow> unit_patterns() {
  return {{"layer norm", match_layer_norm},
          {"RMS norm", match_rms_norm},
          {"gelu", match_gelu},
          {"silu", match_silu},
          {"gated unit", match_gated},
          {"transposed weight", match_transposed_weight}};
}

}  // namespace trainyard::interchange
