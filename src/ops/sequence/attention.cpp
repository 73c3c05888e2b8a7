#include "ops/sequence/attention.h"

#include "base/philox.h"
#include "ops/dense.h"

namespace trainyard::ops {

std::int64_t attended_pairs(std::int64_t steps, bool causal) {
  return causal ? steps * (steps + 1) / 2 : steps * steps;
}

void want_sequences(const graph::NodeView& node, const SequenceRows& rows) {
  node.want_rank(0, 2);
  const std::int64_t all = node.input_shape(0)[0];
  if (rows.steps < 1 || all % rows.steps != 0)
    node.refuse("{} rows are not a whole number of sequences of {} steps", all, rows.steps);
}

namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::kNone;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

void check_lengths(const NodeView& node, int input, std::int64_t sequences) {
  const TensorType& lengths = node.input(input).type;
  if (lengths.dtype != DType::i32 || !(lengths.shape == Shape{sequences}))
    node.refuse("lengths are {}, wants i32 {}", lengths.to_string(), sequences);
}

// Returns the size of a head.
std::int64_t check_qkv(const NodeView& node, int qkv) {
  const auto& attrs = node.attrs<AttentionAttrs>();
  node.want_rank(qkv, 2);
  want_sequences(node, attrs.rows);
  if (attrs.heads < 1 || attrs.kv_heads < 1 || attrs.heads % attrs.kv_heads != 0)
    node.refuse("{} heads do not share {} key and value heads evenly", attrs.heads, attrs.kv_heads);
  const std::int64_t width = node.input_shape(qkv)[1], parts = attrs.heads + 2 * attrs.kv_heads;
  if (width % parts != 0)
    node.refuse("input is {} wide, which is not a whole number for each of {} heads and twice {}", width,
                attrs.heads, attrs.kv_heads);
  if (width / parts > kLargestHead)
    node.refuse("heads of {} numbers, at most {} are possible", width / parts, kLargestHead);
  if (!(attrs.dropout.rate >= 0 && attrs.dropout.rate < 1))
    node.refuse("dropout rate {} is not in [0, 1)", attrs.dropout.rate);
  return width / parts;
}

std::vector<TensorType> infer_attention(const NodeView& node) {
  node.want_inputs(1, 2);
  const auto& attrs = node.attrs<AttentionAttrs>();
  const std::int64_t head = check_qkv(node, 0), rows = node.input_shape(0)[0],
                     sequences = attrs.rows.sequences(rows);
  if (node.inputs() == 2) check_lengths(node, 1, sequences);
  return {{{rows, attrs.heads * head}, node.dtype()},
          {{sequences, attrs.heads, attrs.rows.steps}, sum_type(node.dtype())}};
}

// The flops of one product of queries and keys, over all heads and sequences.
std::int64_t product_flops(const NodeView& node, int qkv) {
  const auto& attrs = node.attrs<AttentionAttrs>();
  return 2 * attrs.rows.sequences(node.input_shape(qkv)[0]) * attrs.heads *
         attended_pairs(attrs.rows.steps, attrs.causal) * attrs.head_size(node.input_shape(qkv)[1]);
}

std::int64_t scores(const NodeView& node, int qkv) {
  const auto& attrs = node.attrs<AttentionAttrs>();
  return attrs.rows.sequences(node.input_shape(qkv)[0]) * attrs.heads *
         attended_pairs(attrs.rows.steps, attrs.causal);
}

Cost cost_attention(const NodeView& node) {
  return {.flops = 2 * product_flops(node, 0),
          .elementwise_flops = 5 * scores(node, 0),
          .bytes_moved = bytes_touched(node)};
}

void gradient_attention(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == kNone) return;
  std::vector<ValueId> inputs{context.d_output(0), context.input(0), context.output(0), context.output(1)};
  if (context.node().inputs.size() == 2) inputs.push_back(context.input(1));
  context.set(0, context.graph().add(attention_grad_op, context.name("/d_qkv"), std::move(inputs),
                                     context.node().attributes));
}

std::vector<TensorType> infer_attention_grad(const NodeView& node) {
  node.want_inputs(4, 5);
  check_qkv(node, 1);
  if (node.inputs() == 5)
    check_lengths(node, 4, node.attrs<AttentionAttrs>().rows.sequences(node.input_shape(1)[0]));
  std::vector<TensorType> types{node.input(1).type};
  if (node.attrs<AttentionAttrs>().column_sums)
    types.push_back({{node.input_shape(1)[1]}, sum_type(node.input(1).type.dtype)});
  return types;
}

// Four products make the gradients. The one that makes the scores again does not count: it saves memory.
Cost cost_attention_grad(const NodeView& node) {
  const auto summed = node.attrs<AttentionAttrs>().column_sums ? node.input_shape(1).elements() : 0;
  return {.flops = 4 * product_flops(node, 1),
          .elementwise_flops = 8 * scores(node, 1) + summed,
          .bytes_moved = bytes_touched(node)};
}

std::string describe_attention(const NodeView& node) {
  const auto& attrs = node.attrs<AttentionAttrs>();
  const std::string kv =
      attrs.kv_heads == attrs.heads ? "" : fmt::format(" of {} keys and values", attrs.kv_heads);
  const std::string dropout = attrs.dropout.rate > 0 ? fmt::format(", dropout {}", attrs.dropout.rate) : "";
  return fmt::format("{} heads{}, {} steps{}{}{}", attrs.heads, kv, attrs.rows.steps,
                     attrs.causal ? ", causal" : "", dropout, attrs.column_sums ? ", with a bias" : "");
}

// The fusion pass lets the gradient of attention sum that of the bias.
Case case_behind_a_layer() {
  return {
      "behind_a_layer", [](Graph& graph, DType dtype) {
        const ValueId src = graph.add_input("src", {{3 * 70, 24}, dtype}, Initializer::normal(1));
        const ValueId weight = graph.add_parameter("weight", {{160, 24}, dtype}, Initializer::normal(0.3));
        const ValueId bias = graph.add_parameter("bias", {{160}, dtype}, Initializer::normal(1));
        const ValueId qkv = dense(graph, "layer", src, weight, bias);
        graph.mark_output(attention(graph, "y", qkv, kNone, {.heads = 3, .kv_heads = 1, .rows = {70}}));
      }};
}

std::vector<Case> cases_attention() {
  struct Problem {
    const char* name;
    std::int64_t sequences, head;
    AttentionAttrs attrs;
    std::int64_t least_length = -1;  // below 0: without lengths
  };
  const Problem problems[] = {
      {"causal", 2, 16, {.heads = 3, .kv_heads = 3, .rows = {20}}},
      {"causal_batch_first", 2, 32, {.heads = 2, .kv_heads = 2, .rows = {17, true}}},
      {"all_steps", 3, 8, {.heads = 2, .kv_heads = 2, .rows = {9}, .causal = false}},
      {"all_steps_batch_first", 2, 64, {.heads = 1, .kv_heads = 1, .rows = {10, true}, .causal = false}},
      {"shared_keys", 2, 16, {.heads = 4, .kv_heads = 2, .rows = {11}}},
      {"one_key_head", 1, 5, {.heads = 6, .kv_heads = 1, .rows = {7, true}}},
      {"padded", 3, 16, {.heads = 2, .kv_heads = 2, .rows = {12}, .causal = false}, 1},
      {"padded_causal", 4, 8, {.heads = 2, .kv_heads = 1, .rows = {9, true}}, 0},
      {"one_step", 3, 16, {.heads = 2, .kv_heads = 2, .rows = {1}}},
      {"odd_head", 1, 33, {.heads = 1, .kv_heads = 1, .rows = {13}}},
      {"largest_head", 1, 256, {.heads = 1, .kv_heads = 1, .rows = {6}}},
      {"several_tiles", 1, 24, {.heads = 2, .kv_heads = 2, .rows = {150}}},
      {"several_tiles_all_steps",
       1,
       16,
       {.heads = 2, .kv_heads = 1, .rows = {140, true}, .causal = false},
       70},
      {"several_tiles_of_96", 1, 96, {.heads = 2, .kv_heads = 1, .rows = {80}}},
      {"several_tiles_of_128", 1, 128, {.heads = 2, .kv_heads = 2, .rows = {132, true}, .causal = false}},
      {"dropout_of_whole_blocks",
       2,
       64,
       {.heads = 4, .kv_heads = 2, .rows = {136, true}, .dropout = {0.25, 5}}},
      {"dropout", 2, 16, {.heads = 2, .kv_heads = 2, .rows = {19}, .dropout = {0.25, 7}}},
      {"dropout_all_steps",
       1,
       8,
       {.heads = 2, .kv_heads = 1, .rows = {70}, .causal = false, .dropout = {0.5, 3}}},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const AttentionAttrs& attrs = problem.attrs;
                     const std::int64_t width = (attrs.heads + 2 * attrs.kv_heads) * problem.head;
                     const ValueId qkv =
                         graph.add_input("qkv", {{problem.sequences * attrs.rows.steps, width}, dtype},
                                         Initializer::normal(1));
                     std::vector<ValueId> inputs{qkv};
                     if (problem.least_length >= 0)
                       inputs.push_back(
                           graph.add_input("lengths", {{problem.sequences}, DType::i32},
                                           Initializer::integers(static_cast<double>(problem.least_length),
                                                                 static_cast<double>(attrs.rows.steps + 1))));
                     graph.mark_output(graph.add_node(attention_op, "y", inputs, attrs).front());
                   }});
  all.push_back(case_behind_a_layer());
  return all;
}

}  // namespace

const graph::OpDef attention_op{.name = "attention",
                                .infer = infer_attention,
                                .cost = cost_attention,
                                .gradient = gradient_attention,
                                .cases = cases_attention,
                                .describe = describe_attention,
                                .lowering = graph::Lowering::mixed,
                                .category = graph::Category::attention};
const graph::OpDef attention_grad_op{.name = "attention_grad",
                                     .infer = infer_attention_grad,
                                     .cost = cost_attention_grad,
                                     .describe = describe_attention,
                                     .lowering = graph::Lowering::mixed,
                                     .category = graph::Category::attention};

ValueId attention(Graph& graph, const std::string& name, ValueId qkv, ValueId lengths, AttentionAttrs attrs) {
  if (attrs.dropout.rate > 0) attrs.dropout.stream = stream_of(name.c_str());
  std::vector<ValueId> inputs{qkv};
  if (lengths != kNone) inputs.push_back(lengths);
  return graph.add_node(attention_op, name, std::move(inputs), attrs).front();
}

std::vector<const graph::OpDef*> attention_ops() { return {&attention_op, &attention_grad_op}; }

}  // namespace trainyard::ops
