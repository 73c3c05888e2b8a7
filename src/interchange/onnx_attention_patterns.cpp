// Attention that is written as products and a softmax. Queries, keys and values are followed back through all
// that only moves numbers, element by element, to the rows of which they are columns; how they were split,
// reshaped and transposed does not matter.

#include "interchange/onnx_patterns.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMostHeads = 1024;

// One factor of a batched product (..., T, D), or (..., D, T) for keys.
struct Operand {
  std::string value;
  Dims dims;
  bool is_transposed = false;

  // `lead` counts through the leading dimensions of the product, to which those of the operand are broadcast.
  std::int64_t index(const Dims& whole, std::int64_t lead, std::int64_t step, std::int64_t column) const {
    std::int64_t at = 0, stride = 1;
    const std::size_t rank = dims.size() - 2, shift = whole.size() - dims.size();
    for (std::size_t i = whole.size() - 2; i-- > 0;) {
      const std::int64_t here = lead % whole[i];
      lead /= whole[i];
      if (i < shift) continue;
      if (dims[i - shift] != 1) at += here * stride;
      stride *= dims[i - shift];
    }
    const std::int64_t row = is_transposed ? column : step, last = is_transposed ? step : column;
    return (at * dims[rank] + row) * dims[rank + 1] + last;
  }
};

struct Sizes {
  Dims whole;  // of the scores
  std::int64_t sequences = 1, heads = 1, steps = 1, size = 1;
};

// The columns of some rows that hold the vectors of all heads.
struct Columns {
  std::string source;
  std::int64_t first = 0, width = 0;  // of the source
  std::int64_t shared = 1;            // heads that read the same vectors
  const onnx::Node* rotary = nullptr;
  bool batch_first = true, steps_first = true;  // which orders of the rows agree with all elements
};

// Heads that follow each other read the same row, until the next sequence begins.
std::int64_t count_heads(Tracer& tracer, const Operand& queries, const Dims& whole, std::int64_t width) {
  const std::int64_t lead = product(whole, 0, whole.size() - 2);
  const Place first = tracer.trace(queries.value, queries.index(whole, 0, 0, 0));
  std::int64_t heads = 1;
  while (heads < lead && heads <= kMostHeads &&
         tracer.trace(queries.value, queries.index(whole, heads, 0, 0)).index / width == first.index / width)
    ++heads;
  return heads;
}

std::optional<Columns> columns_of(const PatternGraph& graph, Tracer& tracer, const Operand& operand,
                                  const Sizes& sizes) {
  const auto at = [&](std::int64_t sequence, std::int64_t head, std::int64_t step, std::int64_t column) {
    return tracer.trace(operand.value,
                        operand.index(sizes.whole, sequence * sizes.heads + head, step, column));
  };
  const Place first = at(0, 0, 0, 0);
  const TensorSpec& spec = graph.known().spec(first.source);
  if (!spec.elements() || spec.dims.size() < 2) return std::nullopt;
  Columns found{.source = first.source,
                .first = first.index % spec.dims.back(),
                .width = spec.dims.back(),
                .rotary = first.rotary};
  if (*spec.elements() / found.width != sizes.sequences * sizes.steps) return std::nullopt;
  while (found.shared < sizes.heads && at(0, found.shared, 0, 0) == first) ++found.shared;
  if (sizes.heads % found.shared != 0) return std::nullopt;
  for (const std::int64_t sequence : tested_places(sizes.sequences))
    for (const std::int64_t step : tested_places(sizes.steps))
      for (const std::int64_t column : tested_places(sizes.size))
        for (std::int64_t head = 0; head < sizes.heads; ++head) {
          const Place place = at(sequence, head, step, column);
          const std::int64_t row = place.index / found.width;
          if (place.source != first.source || place.rotary != first.rotary ||
              (place.rotary != nullptr && place.rotary_step != step) ||
              place.index % found.width != found.first + head / found.shared * sizes.size + column)
            return std::nullopt;
          found.batch_first = found.batch_first && row == sequence * sizes.steps + step;
          found.steps_first = found.steps_first && row == step * sizes.sequences + sequence;
        }
  return found.batch_first || found.steps_first ? std::optional(found) : std::nullopt;
}

enum class Mask : std::uint8_t { none, causal, other };

// `hidden` says of one number of the mask whether it hides a step; nothing where it does neither.
template <typename Hidden>
Mask mask_of(const PatternGraph& graph, const std::string& value, const Hidden& hidden) {
  const Dims& dims = graph.known().spec(value).dims;
  const auto numbers = graph.known().numbers(value);
  if (numbers == nullptr) return Mask::other;
  const std::int64_t keys = dims.empty() ? 1 : dims.back(),
                     queries = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  bool none = true, causal = queries == keys;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::optional<bool> is_hidden = hidden((*numbers)[i]);
    if (!is_hidden) return Mask::other;
    const auto at = static_cast<std::int64_t>(i);
    none = none && !*is_hidden;
    causal = causal && *is_hidden == (at % keys > at / keys % queries);
  }
  return none ? Mask::none : causal ? Mask::causal : Mask::other;
}

Mask added_mask(const PatternGraph& graph, const std::string& value) {
  return mask_of(graph, value, [](double number) {
    return number == 0 ? std::optional(false) : number <= kHidden ? std::optional(true) : std::nullopt;
  });
}

// The product of queries and keys, as it was before it was scaled and masked.
struct Scores {
  const onnx::Node* product = nullptr;
  double scale = 1;
  bool causal = false;
};

// Goes back by one op that scales or masks; returns the value before it.
std::optional<std::string> before_masks(const PatternGraph& graph, const onnx::Node& node, Scores& scores) {
  if (node.type == "Identity" || node.type == "Cast") return node.inputs.at(0);
  if (node.type == "Where" && node.inputs.size() == 3)
    for (const std::size_t kept : {2, 1}) {
      const auto hidden = graph.known().numbers(node.inputs[3 - kept]);
      if (hidden == nullptr ||
          !std::all_of(hidden->begin(), hidden->end(), [](double x) { return x <= kHidden; }))
        continue;
      const Mask mask = mask_of(graph, node.inputs[0],
                                [&](double number) { return std::optional((number != 0) == (kept == 2)); });
      if (mask == Mask::other) return std::nullopt;
      scores.causal = scores.causal || mask == Mask::causal;
      return node.inputs[kept];
    }
  if (node.inputs.size() != 2) return std::nullopt;
  if (const auto scaled = graph.with_number(&node)) {
    if (node.type == "Mul") scores.scale *= scaled->number;
    if (node.type == "Div" && scaled->place == 1) scores.scale /= scaled->number;
    if (node.type == "Mul" || (node.type == "Div" && scaled->place == 1)) return scaled->value;
  }
  if (node.type != "Add") return std::nullopt;
  for (const std::size_t i : {1, 0}) {
    const Mask mask = added_mask(graph, node.inputs[i]);
    if (mask == Mask::other) continue;
    scores.causal = scores.causal || mask == Mask::causal;
    return node.inputs[1 - i];
  }
  return std::nullopt;
}

std::optional<Scores> scores_of(const PatternGraph& graph, std::string value) {
  Scores scores;
  for (int step = 0; step < kLongestWay; ++step) {
    const onnx::Node* node = graph.maker(value);
    if (node == nullptr || !node->domain.empty()) return std::nullopt;
    if (node->type == "MatMul") {
      scores.product = node;
      return scores;
    }
    const std::optional<std::string> before = before_masks(graph, *node, scores);
    if (!before) return std::nullopt;
    value = *before;
  }
  return std::nullopt;
}

// Takes a scale off a factor.
Operand unscaled(const PatternGraph& graph, const std::string& value, double& scale) {
  Operand operand{.value = value, .dims = graph.known().spec(value).dims};
  const onnx::Node* node = graph.maker(value);
  const auto scaled = graph.with_number(node);
  if (!scaled || (node->type != "Mul" && !(node->type == "Div" && scaled->place == 1))) return operand;
  scale *= node->type == "Mul" ? scaled->number : 1 / scaled->number;
  operand.value = scaled->value;
  return operand;
}

// Finds the value behind the sums of all heads that has the vectors of a step beside each other.
struct Result {
  std::string value;
  bool batch_first = true, steps_first = true;
};

bool is_result(Tracer& tracer, const std::string& sums, const Sizes& sizes, Result& result) {
  const std::int64_t width = sizes.heads * sizes.size;
  for (const std::int64_t sequence : tested_places(sizes.sequences))
    for (const std::int64_t step : tested_places(sizes.steps))
      for (const std::int64_t column : tested_places(width)) {
        const std::int64_t head = column / sizes.size;
        const std::int64_t wanted =
            ((sequence * sizes.heads + head) * sizes.steps + step) * sizes.size + column % sizes.size;
        const auto agrees = [&](std::int64_t row) {
          const Place place = tracer.trace(result.value, row * width + column, sums);
          return place.source == sums && place.index == wanted;
        };
        result.batch_first = result.batch_first && agrees(sequence * sizes.steps + step);
        result.steps_first = result.steps_first && agrees(step * sizes.sequences + sequence);
      }
  return result.batch_first || result.steps_first;
}

std::optional<Result> result_of(const PatternGraph& graph, Tracer& tracer, const std::string& sums,
                                const Sizes& sizes) {
  std::string value = sums;
  for (int step = 0; step < kLongestWay; ++step) {
    const onnx::Node* reader = graph.sole_reader(value);
    if (reader == nullptr || reader->outputs.size() != 1 || !graph.known().movement(*reader))
      return std::nullopt;
    value = reader->outputs[0];
    const Dims& dims = graph.known().spec(value).dims;
    if (dims.size() < 2 || dims.back() != sizes.heads * sizes.size) continue;
    Result result{.value = value};
    if (is_result(tracer, sums, sizes, result)) return result;
  }
  return std::nullopt;
}

// Returns the node that reads the probabilities, and the rate at which they are dropped.
const onnx::Node* weighted_sum(const PatternGraph& graph, const onnx::Node& softmax, double& dropped) {
  const onnx::Node* next = graph.sole_reader(softmax.outputs.at(0));
  std::string probabilities = softmax.outputs[0];
  while (next != nullptr && (next->type == "Dropout" || next->type == "Cast")) {
    if (next->type == "Dropout")
      dropped = next->inputs.size() > 1 ? graph.known().number(next->inputs[1]).value_or(0.5)
                                        : next->number("ratio", 0.5);
    probabilities = next->outputs.at(0);
    next = graph.sole_reader(probabilities);
  }
  return next != nullptr && next->type == "MatMul" && next->inputs.size() == 2 &&
                 next->inputs[0] == probabilities
             ? next
             : nullptr;
}

struct Found {
  Sizes sizes;
  std::array<Columns, 3> parts;  // queries, keys, values
  Result result;
  bool causal = false, batch_first = true;
  double dropped = 0;
};

std::optional<Found> find_attention(const PatternGraph& graph, const onnx::Node& softmax) {
  Found found;
  const auto rank = static_cast<std::int64_t>(graph.known().spec(softmax.outputs.at(0)).dims.size());
  const std::int64_t axis = softmax.integer("axis", -1);
  if (rank < 3 || (axis != -1 && axis != rank - 1)) return std::nullopt;
  const onnx::Node* sums = weighted_sum(graph, softmax, found.dropped);
  std::optional<Scores> scores = scores_of(graph, softmax.inputs.at(0));
  if (sums == nullptr || !scores) return std::nullopt;
  const Operand queries = unscaled(graph, scores->product->inputs.at(0), scores->scale);
  Operand keys = unscaled(graph, scores->product->inputs.at(1), scores->scale);
  keys.is_transposed = true;
  const Operand values{.value = sums->inputs[1], .dims = graph.known().spec(sums->inputs[1]).dims};
  const TensorSpec& whole = graph.known().spec(scores->product->outputs.at(0));
  if (!whole.elements() || *whole.elements() == 0 || queries.dims.size() != whole.dims.size())
    return std::nullopt;
  for (const Operand* one : {&queries, static_cast<const Operand*>(&keys), &values})
    if (one->dims.size() < 2 || one->dims.size() > whole.dims.size() ||
        !graph.known().spec(one->value).elements())
      return std::nullopt;
  Sizes& sizes = found.sizes;
  sizes.whole = whole.dims;
  sizes.steps = queries.dims[queries.dims.size() - 2];
  sizes.size = queries.dims.back();
  if (sizes.size < 1 || whole.dims.back() != sizes.steps || values.dims.back() != sizes.size ||
      std::abs(scores->scale * std::sqrt(static_cast<double>(sizes.size)) - 1) > 1e-3)
    return std::nullopt;
  Tracer tracer(graph);
  const std::string source = tracer.trace(queries.value, 0).source;
  const Dims& rows = graph.known().spec(source).dims;
  if (rows.size() < 2) return std::nullopt;
  sizes.heads = count_heads(tracer, queries, sizes.whole, rows.back());
  const std::int64_t lead = product(sizes.whole, 0, sizes.whole.size() - 2);
  if (sizes.heads > kMostHeads || lead % sizes.heads != 0) return std::nullopt;
  sizes.sequences = lead / sizes.heads;
  bool batch_first = true, steps_first = true;
  const std::array operands{&queries, static_cast<const Operand*>(&keys), &values};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::optional<Columns> part = columns_of(graph, tracer, *operands[i], sizes);
    if (!part) return std::nullopt;
    found.parts[i] = *part;
    batch_first = batch_first && part->batch_first;
    steps_first = steps_first && part->steps_first;
  }
  const auto& [q, k, v] = found.parts;
  if (!(batch_first || steps_first) || q.shared != 1 || k.shared != v.shared || v.rotary != nullptr ||
      (q.rotary == nullptr) != (k.rotary == nullptr) ||
      (q.rotary != nullptr && q.rotary->number("base", 0) != k.rotary->number("base", 0)))
    return std::nullopt;
  const std::optional<Result> result = result_of(graph, tracer, sums->outputs.at(0), sizes);
  if (!result) return std::nullopt;
  found.result = *result;
  found.batch_first = batch_first;
  found.causal = scores->causal;
  return found;
}

// softmax(Q K^T / sqrt(D) + mask) V, and back to rows
bool match_attention(PatternGraph& graph, std::size_t place) {
  const onnx::Node& softmax = graph.node(place);
  if (softmax.type != "Softmax" || !softmax.domain.empty()) return false;
  const std::optional<Found> found = find_attention(graph, softmax);
  if (!found) return false;
  const auto& [q, k, v] = found->parts;
  const std::size_t last = graph.place_of(found->result.value);
  onnx::Node node = fused_node(graph.node(last), "Attention", kOwnDomain, {q.source, k.source, v.source});
  // The order of the rows is the simplest when one sequence or one step leaves the order open.
  const bool out_batch_first = found->batch_first ? found->result.batch_first : !found->result.steps_first;
  node.attributes = {attribute("heads", found->sizes.heads),
                     attribute("kv_heads", found->sizes.heads / k.shared),
                     attribute("size", found->sizes.size),
                     attribute("steps", found->sizes.steps),
                     attribute("causal", std::int64_t{found->causal}),
                     attribute("batch_first", std::int64_t{found->batch_first}),
                     attribute("out_batch_first", std::int64_t{out_batch_first}),
                     attribute("query_column", q.first),
                     attribute("key_column", k.first),
                     attribute("value_column", v.first),
                     attribute("dropped", found->dropped),
                     attribute("base", q.rotary == nullptr ? 0.0 : q.rotary->number("base", 0))};
  if (q.rotary != nullptr)
    node.attributes.push_back(
        {.name = "rotary", .kind = onnx::Attribute::Kind::text, .text = q.rotary->name});
  graph.replace(last, std::move(node));
  return true;
}

}  // namespace

std::vector<PatternRow> attention_patterns() { return {{"attention", match_attention}}; }

}  // namespace trainyard::interchange
