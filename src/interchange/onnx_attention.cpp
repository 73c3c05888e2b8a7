// This file exports attention and what tells steps their place, as the ops of which frameworks make them.
// Patterns recognise them in a file and make them ours again.

#include "interchange/onnx_rules.h"
#include "ops/sequence/position.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::ValueId;
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

// Returns the order of our rows where the file's are sequence by sequence, or step by step.
ops::SequenceRows sequence_rows(const Rows& rows, std::int64_t steps, bool batch_first) {
  return {steps, batch_first != rows.swapped};
}

ValueId import_positions(ImportContext& context, const onnx::Node& node) {
  const Shape shape = context.shape(node, 0);
  Rows rows = context.rows(node, 0);
  const ValueId table = context.state(node, 1,
                                      context.shape(node, 1).rank() == 2
                                          ? context.shape(node, 1)
                                          : Shape{node.integer("positions", 1), shape[shape.rank() - 1]});
  rows.value =
      ops::add_positions(context.graph(), context.name(node), rows.value, table,
                         sequence_rows(rows, node.integer("steps", 1), node.integer("batch_first", 1) != 0));
  return context.keep_rows(node, rows, shape);
}

// Returns `width` columns of the rows.
ValueId columns_of_rows(ImportContext& context, const std::string& name, ValueId src, std::int64_t first,
                        std::int64_t width) {
  const Shape& shape = context.graph().shape(src);
  return shape[1] == width ? src : ops::slice(context.graph(), name, src, {0, first}, {shape[0], width});
}

// Queries, keys and values of one matrix stay there; those of several are joined.
ValueId joined_rows(ImportContext& context, const onnx::Node& node, const std::array<Rows, 3>& parts,
                    std::int64_t query_width, std::int64_t kv_width) {
  const std::int64_t q = node.integer("query_column", 0), k = node.integer("key_column", 0),
                     v = node.integer("value_column", 0), width = query_width + 2 * kv_width;
  const std::string name = context.name(node);
  if (parts[0].value == parts[1].value && parts[0].value == parts[2].value && k == q + query_width &&
      v == k + kv_width)
    return columns_of_rows(context, name + "/qkv", parts[0].value, q, width);
  const ValueId queries = columns_of_rows(context, name + "/queries", parts[0].value, q, query_width),
                keys = columns_of_rows(context, name + "/keys", parts[1].value, k, kv_width),
                values = columns_of_rows(context, name + "/values", parts[2].value, v, kv_width);
  return ops::concat(context.graph(), name + "/qkv", {queries, keys, values}, 1);
}

std::string rotary_name(const onnx::Node& node) {
  const std::string name = node.text("rotary", "rotary"), part = "/sum";
  return name.ends_with(part) ? name.substr(0, name.size() - part.size()) : name;
}

ValueId import_attention(ImportContext& context, const onnx::Node& node) {
  const std::int64_t heads = node.integer("heads", 1), kv = node.integer("kv_heads", 1),
                     size = node.integer("size", 1), steps = node.integer("steps", 1);
  if (size > ops::kLargestHead)
    context.decline("its heads have {} numbers, at most {} are ours", size, ops::kLargestHead);
  const std::array parts{context.rows(node, 0), context.rows(node, 1), context.rows(node, 2)};
  for (const Rows& part : parts)
    if (part.swapped != parts[0].swapped) context.decline("its queries, keys and values lie in other orders");
  const ops::SequenceRows rows = sequence_rows(parts[0], steps, node.integer("batch_first", 1) != 0);
  ValueId qkv = joined_rows(context, node, parts, heads * size, kv * size);
  if (const double base = node.number("base", 0); base > 0)
    qkv = ops::rotary(context.graph(), rotary_name(node), qkv, graph::kNone,
                      {.heads = heads + kv, .head_size = size, .rows = rows, .base = base});
  const double dropped = context.training() ? node.number("dropped", 0) : 0;
  const ValueId made = ops::attention(context.graph(), context.name(node), qkv, graph::kNone,
                                      {.heads = heads,
                                       .kv_heads = kv,
                                       .rows = rows,
                                       .causal = node.integer("causal", 0) != 0,
                                       .dropout = {dropped}});
  const std::optional<graph::TensorType> type = type_of(context.known().spec(node.outputs[0]));
  if (!type) context.decline("its shape is not known");
  const bool out_batch_first = node.integer("out_batch_first", 1) != 0;
  const std::int64_t sequences = context.graph().shape(made)[0] / steps;
  return context.keep_rows(node,
                           {.value = made,
                            .outer = out_batch_first ? sequences : steps,
                            .inner = out_batch_first ? steps : sequences,
                            .swapped = out_batch_first != rows.batch_first},
                           type->shape);
}

}  // namespace

std::vector<ImportRow> attention_import_rows() {
  return {{"Positions", import_positions}, {"Attention", import_attention}};
}

std::vector<ExportRow> attention_export_rows() {
  return {{&ops::add_positions_op, export_positions},
          {&ops::rotary_op, export_rotary},
          {&ops::attention_op, export_attention}};
}

}  // namespace trainyard::interchange
