// This file exports attention and what tells steps their place, as the ops of which frameworks make them.
// What patterns recognise in a file becomes ours again.

#include "interchange/onnx_rules.h"
#include "ops/position.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

// Writes the parts of one op of ours, each with a name of its own below the op's.
class Parts {
 public:
  Parts(ExportContext& context, const graph::Node& node) : context_(context), node_(node) {}

  std::string add(const std::string& what, const char* type, std::vector<std::string> inputs,
                  std::vector<onnx::Attribute> attributes = {}) {
    const std::string name = node_.name + "/" + what;
    context_.add_part(name, type, std::move(inputs), name, std::move(attributes));
    return name;
  }
  std::string reshape(const std::string& what, const std::string& src, const Dims& dims) {
    return add(what, "Reshape", {src, constant(what + "_shape", dims)});
  }
  std::string transpose(const std::string& what, const std::string& src, const Dims& order) {
    return add(what, "Transpose", {src}, {attribute("perm", order)});
  }
  std::string slice(const std::string& what, const std::string& src, std::int64_t begin, std::int64_t end,
                    std::int64_t axis) {
    return add(what, "Slice",
               {src, constant(what + "_begin", Dims{begin}), constant(what + "_end", Dims{end}),
                constant(what + "_axis", Dims{axis})});
  }
  template <typename Content>
  std::string constant(const std::string& what, const Content& content) {
    return context_.constant(node_, what.c_str(), content);
  }
  // The last part makes what the op makes.
  void finish_reshaped(const std::string& src, const Dims& dims) {
    context_.add(node_, "Reshape", {src, constant("rows_shape", dims)});
  }

 private:
  ExportContext& context_;
  const graph::Node& node_;
};

// Returns (steps, sequences, ...) or (sequences, steps, ...), as the rows follow each other. The number of
// sequences stays open.
Dims by_sequences(const ops::SequenceRows& rows, const Dims& rest) {
  Dims dims = rows.batch_first ? Dims{-1, rows.steps} : Dims{rows.steps, -1};
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

void export_positions(ExportContext& context, const graph::Node& node) {
  const ops::SequenceRows& rows = node.attrs<ops::PositionsAttrs>().rows;
  Parts parts(context, node);
  const Shape& table_shape = context.graph().shape(node.inputs[1]);
  const std::int64_t width = table_shape[1];
  std::string table = context.input(node, 1);
  if (table_shape[0] > rows.steps) table = parts.slice("used", table, 0, rows.steps, 0);
  if (!rows.batch_first) table = parts.add("of_step", "Unsqueeze", {table, parts.constant("axis", Dims{1})});
  const std::string src = parts.reshape("sequences", context.input(node, 0), by_sequences(rows, {width}));
  parts.finish_reshaped(parts.add("sum", "Add", {src, table}), {-1, width});
}

// The halves (a, b) of each head become (a cos - b sin, b cos + a sin): x cos + (-b, a) sin, as LLaMA's
// authors publish it.
void export_rotary(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::RotaryAttrs>();
  if (node.inputs.size() > 1 || attrs.inverse)
    fail(ErrorKind::unsupported, "ONNX: rotary '{}' does not begin with the first step", node.name);
  Parts parts(context, node);
  const std::int64_t steps = attrs.rows.steps, size = attrs.head_size, half = size / 2,
                     turned = attrs.heads * size, width = context.graph().shape(node.inputs[0])[1];
  std::vector<float> cosines(static_cast<std::size_t>(steps * size)), sines = cosines;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t i = 0; i < size; ++i) {
      const double turns =
          static_cast<double>(step) *
          std::pow(attrs.base, -2.0 * static_cast<double>(i % half) / static_cast<double>(size));
      const auto at = static_cast<std::size_t>(step * size + i);
      cosines[at] = static_cast<float>(std::cos(turns));
      sines[at] = static_cast<float>(std::sin(turns));
    }
  const Dims angle_dims = attrs.rows.batch_first ? Dims{steps, 1, size} : Dims{steps, 1, 1, size};
  const std::string cosine = context.shared_constant(
                        fmt::format("rotary_cos_{}x{}_{}", steps, size, attrs.base), angle_dims, cosines),
                    sine = context.shared_constant(
                        fmt::format("rotary_sin_{}x{}_{}", steps, size, attrs.base), angle_dims, sines);
  const std::string rows = context.input(node, 0);
  const std::string used = turned < width ? parts.slice("turned", rows, 0, turned, 1) : rows;
  const std::string heads = parts.reshape("heads", used, by_sequences(attrs.rows, {attrs.heads, size}));
  const std::string first = parts.slice("first_half", heads, 0, half, 3),
                    second = parts.slice("second_half", heads, half, size, 3);
  const std::string other = parts.add("other", "Concat", {parts.add("negative", "Neg", {second}), first},
                                      {attribute("axis", std::int64_t{3})});
  const std::string sum =
      parts.add("sum", "Add",
                {parts.add("by_cosine", "Mul", {heads, cosine}), parts.add("by_sine", "Mul", {other, sine})});
  if (turned == width) return parts.finish_reshaped(sum, {-1, turned});
  const std::string flat = parts.reshape("rows", sum, {-1, turned});
  context.add(node, "Concat", {flat, parts.slice("rest", rows, turned, width, 1)},
              {attribute("axis", std::int64_t{1})});
}

// Zero where a step sees another, and minus infinity where that comes later.
std::string causal_mask(ExportContext& context, std::int64_t steps) {
  std::vector<float> mask(static_cast<std::size_t>(steps * steps), 0.0f);
  for (std::int64_t query = 0; query < steps; ++query)
    for (std::int64_t key = query + 1; key < steps; ++key)
      mask[static_cast<std::size_t>(query * steps + key)] = -std::numeric_limits<float>::infinity();
  return context.shared_constant(fmt::format("causal_mask_{}", steps), {steps, steps}, mask);
}

// Heads that share their keys have an axis of their own, over which those are broadcast.
void export_attention(ExportContext& context, const graph::Node& node) {
  const auto& attrs = node.attrs<ops::AttentionAttrs>();
  if (node.inputs.size() > 1)
    fail(ErrorKind::unsupported, "ONNX: attention '{}' with lengths has no form there", node.name);
  Parts parts(context, node);
  const std::int64_t heads = attrs.heads, kv = attrs.kv_heads, shared = heads / kv,
                     size = attrs.head_size(context.graph().shape(node.inputs[0])[1]);
  const bool first = attrs.rows.batch_first;
  const std::string rows = context.input(node, 0);
  const auto part = [&](const char* what, std::int64_t begin, const Dims& dims, const Dims& order) {
    std::int64_t width = 1;
    for (const std::int64_t dim : dims) width *= dim;
    const std::string columns = parts.slice(std::string(what) + "_columns", rows, begin, begin + width, 1);
    const std::string split =
        parts.reshape(std::string(what) + "_heads", columns, by_sequences(attrs.rows, dims));
    return parts.transpose(what, split, order);
  };
  const auto beside_shared = [&](const char* what, const std::string& src) {
    return shared == 1
               ? src
               : parts.add(what, "Unsqueeze", {src, parts.constant(std::string(what) + "_axis", Dims{2})});
  };
  const std::string queries =
      shared == 1 ? part("queries", 0, {heads, size}, first ? Dims{0, 2, 1, 3} : Dims{1, 2, 0, 3})
                  : part("queries", 0, {kv, shared, size}, first ? Dims{0, 2, 3, 1, 4} : Dims{1, 2, 3, 0, 4});
  const std::string keys = beside_shared(
      "each_keys", part("keys", heads * size, {kv, size}, first ? Dims{0, 2, 3, 1} : Dims{1, 2, 3, 0}));
  const std::string values = beside_shared("each_values", part("values", (heads + kv) * size, {kv, size},
                                                               first ? Dims{0, 2, 1, 3} : Dims{1, 2, 0, 3}));
  const std::string scaled =
      parts.add("scaled", "Mul", {queries, parts.constant("scale", attrs.scale(size))});
  std::string scores = parts.add("scores", "MatMul", {scaled, keys});
  if (attrs.causal) scores = parts.add("seen", "Add", {scores, causal_mask(context, attrs.rows.steps)});
  std::string weights =
      parts.add("probabilities", "Softmax", {scores}, {attribute("axis", std::int64_t{-1})});
  if (attrs.dropout.rate > 0)
    weights = parts.add("dropped", "Dropout", {weights, parts.constant("ratio", attrs.dropout.rate)});
  const std::string sums = parts.add("sums", "MatMul", {weights, values});
  const Dims back = shared == 1 ? (first ? Dims{0, 2, 1, 3} : Dims{2, 0, 1, 3})
                                : (first ? Dims{0, 3, 1, 2, 4} : Dims{3, 0, 1, 2, 4});
  parts.finish_reshaped(parts.transpose("steps", sums, back), {-1, heads * size});
}

}  // namespace

std::vector<ExportRow> attention_export_rows() {
  return {{&ops::add_positions_op, export_positions},
          {&ops::rotary_op, export_rotary},
          {&ops::attention_op, export_attention}};
}

}  // namespace trainyard::interchange
