#include "ops/sequence/cached_attention.h"

namespace trainyard::ops {

namespace {

using graph::Case;
using graph::Cost;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(4, 4);
  node.want_rank(0, 2);
  const auto& attrs = node.attrs<CachedAttentionAttrs>();
  const std::int64_t rows = node.input_shape(0)[0], width = node.input_shape(0)[1],
                     parts = attrs.heads + 2 * attrs.kv_heads;
  if (attrs.heads < 1 || attrs.kv_heads < 1 || attrs.heads % attrs.kv_heads != 0 || width % parts != 0)
    node.refuse("input is {} wide, which does not fit {} heads and twice {}", width, attrs.heads,
                attrs.kv_heads);
  if (attrs.steps < 1 || rows % attrs.steps != 0)
    node.refuse("{} rows are not a whole number of sequences of {} steps", rows, attrs.steps);
  for (const int cache : {1, 2}) {
    node.want_rank(cache, 3);
    const Shape& shape = node.input_shape(cache);
    if (shape[0] != rows / attrs.steps || shape[2] != attrs.kv_heads * (width / parts))
      node.refuse("cache '{}' is {}, wants {} sequences and {} numbers a step", node.input(cache).name,
                  shape.to_string(), rows / attrs.steps, attrs.kv_heads * (width / parts));
  }
  if (node.input(3).type.dtype != DType::i32 || !(node.input_shape(3) == Shape{1}))
    node.refuse("position is {}, wants i32 1", node.input(3).type.to_string());
  return {{{rows, attrs.heads * (width / parts)}, node.dtype()}};
}

// As if the caches were full: how many steps they hold is known when it runs.
Cost cost(const NodeView& node) {
  const std::int64_t products = node.output_shape(0).elements() * node.input_shape(1)[1];
  return {.flops = 4 * products,
          .elementwise_flops =
              5 * node.input_shape(0)[0] * node.attrs<CachedAttentionAttrs>().heads * node.input_shape(1)[1],
          .bytes_moved = bytes_touched(node)};
}

std::vector<int> mutates(const NodeView&) { return {1, 2}; }

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<CachedAttentionAttrs>();
  return fmt::format("{} heads, {} new steps, room for {}", attrs.heads, attrs.steps, node.input_shape(1)[1]);
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    std::int64_t sequences, head, room, position;
    CachedAttentionAttrs attrs;
  };
  const Problem problems[] = {{"one_step", 3, 16, 20, 11, {2, 2, 1}},
                              {"first_step", 2, 8, 9, 0, {4, 1, 1}},
                              {"several_steps", 2, 24, 30, 7, {3, 3, 5}},
                              {"from_the_start", 1, 33, 70, 0, {2, 1, 66}},
                              {"last_step", 2, 64, 12, 11, {2, 2, 1}}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back(
        {problem.name, [problem](Graph& graph, DType dtype) {
           const CachedAttentionAttrs& attrs = problem.attrs;
           const TensorType cache{{problem.sequences, problem.room, attrs.kv_heads * problem.head}, dtype};
           const std::int64_t width = (attrs.heads + 2 * attrs.kv_heads) * problem.head;
           const CachedAttentionInputs inputs{
               graph.add_input("qkv", {{attrs.steps * problem.sequences, width}, dtype},
                               Initializer::normal(1)),
               graph.add_state("keys", cache, graph::Role::statistic, Initializer::normal(1)),
               graph.add_state("values", cache, graph::Role::statistic, Initializer::normal(1)),
               graph.add_input("position", {{1}, DType::i32},
                               Initializer::constant(static_cast<double>(problem.position)))};
           graph.mark_output(cached_attention(graph, "y", inputs, attrs));
         }});
  return all;
}

}  // namespace

const graph::OpDef cached_attention_op{.name = "cached_attention",
                                       .infer = infer,
                                       .cost = cost,
                                       .cases = cases,
                                       .mutates = mutates,
                                       .describe = describe,
                                       .lowering = graph::Lowering::mixed,
                                       .category = graph::Category::attention};

Cost cached_attention_cost(const NodeView& node, std::int64_t position) {
  const auto& attrs = node.attrs<CachedAttentionAttrs>();
  // New step s sees position + s + 1 steps.
  const std::int64_t seen = attrs.steps * position + attrs.steps * (attrs.steps + 1) / 2,
                     sequences = node.input_shape(0)[0] / attrs.steps, width = node.output_shape(0)[1];
  // The kernel reads the old steps of each cache and writes the new ones.
  const std::int64_t cached = node.input(1).type.bytes() / node.input_shape(1)[1] * (position + attrs.steps);
  return {.flops = 4 * sequences * width * seen,
          .elementwise_flops = 5 * sequences * attrs.heads * seen,
          .bytes_moved = node.input(0).type.bytes() + node.input(3).type.bytes() +
                         node.output(0).type.bytes() + 2 * cached};
}

ValueId cached_attention(Graph& graph, const std::string& name, const CachedAttentionInputs& inputs,
                         const CachedAttentionAttrs& attrs) {
  return graph.add(cached_attention_op, name, {inputs.qkv, inputs.keys, inputs.values, inputs.position},
                   attrs);
}

std::vector<const graph::OpDef*> cached_attention_ops() { return {&cached_attention_op}; }

}  // namespace trainyard::ops
