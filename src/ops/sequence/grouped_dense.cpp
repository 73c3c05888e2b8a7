#include "ops/sequence/grouped_dense.h"

namespace trainyard::ops {

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

void check_offsets(const NodeView& node, std::int64_t groups) {
  const TensorType& offsets = node.input(2).type;
  if (offsets.dtype != DType::i32 || !(offsets.shape == Shape{groups + 1}))
    node.refuse("offsets are {}, wants i32 {} for {} groups", offsets.to_string(), groups + 1, groups);
}

std::vector<TensorType> infer_grouped_dense(const NodeView& node) {
  node.want_inputs(3, 4);
  node.want_rank(0, 2);
  node.want_rank(1, 3);
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  if (weight[2] != src[1])
    node.refuse("weight is {}, input is {}: the last dimensions must agree", weight.to_string(),
                src.to_string());
  check_offsets(node, weight[0]);
  if (node.inputs() == 4 && !(node.input_shape(3) == Shape{weight[0] * weight[1]}))
    node.refuse("bias is {}, wants {}", node.input_shape(3).to_string(), weight[0] * weight[1]);
  return {{{src[0], weight[1]}, node.dtype()}};
}

Cost cost_grouped_dense(const NodeView& node) {
  return {.flops = 2 * node.input_shape(0).elements() * node.output_shape(0)[1],
          .elementwise_flops = node.inputs() == 4 ? node.output_shape(0).elements() : 0,
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  Graph& graph = context.graph();
  const bool bias = context.node().inputs.size() == 4 && context.needs(3);
  if (context.needs(1) || bias) {
    const auto made = graph.add_node(grouped_dense_d_weight_op, context.name("/d_weight"),
                                     {context.d_output(0), context.input(0), context.input(2)},
                                     GroupedDenseGradAttrs{bias});
    context.set(1, made[0]);
    if (bias) context.set(3, made[1]);
  }
  if (context.needs(0))
    context.set(
        0, graph.add(grouped_dense_d_src_op, context.name("/d_src"),
                     {context.d_output(0), context.input(1), context.input(2)}, GroupedDenseGradAttrs{}));
}

std::vector<TensorType> infer_d_src(const NodeView& node) {
  node.want_inputs(3, 3);
  node.want_rank(0, 2);
  node.want_rank(1, 3);
  const Shape &d_dst = node.input_shape(0), &weight = node.input_shape(1);
  if (weight[1] != d_dst[1])
    node.refuse("weight is {}, d_dst is {}: they do not belong together", weight.to_string(),
                d_dst.to_string());
  check_offsets(node, weight[0]);
  return {{{d_dst[0], weight[2]}, node.dtype()}};
}

Cost cost_d_src(const NodeView& node) {
  return {.flops = 2 * node.input_shape(0).elements() * node.output_shape(0)[1],
          .bytes_moved = bytes_touched(node)};
}

std::vector<TensorType> infer_d_weight(const NodeView& node) {
  node.want_inputs(3, 3);
  node.want_rank(0, 2);
  node.want_rank(1, 2);
  node.want_rank(2, 1);
  const Shape &d_dst = node.input_shape(0), &src = node.input_shape(1);
  const std::int64_t groups = node.input_shape(2)[0] - 1;
  if (d_dst[0] != src[0] || groups < 1)
    node.refuse("d_dst is {}, input is {}, offsets are {}: they do not belong together", d_dst.to_string(),
                src.to_string(), node.input_shape(2).to_string());
  check_offsets(node, groups);
  std::vector<TensorType> types{{{groups, d_dst[1], src[1]}, node.dtype()}};
  if (node.attrs<GroupedDenseGradAttrs>().bias)
    types.push_back({{groups * d_dst[1]}, sum_type(node.dtype())});
  return types;
}

Cost cost_d_weight(const NodeView& node) {
  return {.flops = 2 * node.input_shape(0).elements() * node.input_shape(1)[1],
          .elementwise_flops = node.attrs<GroupedDenseGradAttrs>().bias ? node.input_shape(0).elements() : 0,
          .bytes_moved = bytes_touched(node)};
}

std::string describe_grouped_dense(const NodeView& node) {
  return fmt::format("{} groups", node.input_shape(1)[0]);
}

std::vector<Case> cases_grouped_dense() {
  struct Problem {
    const char* name;
    std::vector<double> offsets;
    std::int64_t inputs, outputs;
    bool bias = true;
  };
  const Problem problems[] = {
      {"even", {0, 8, 16, 24, 32}, 64, 48},
      {"uneven", {0, 1, 14, 19, 40}, 33, 21},
      {"empty_groups", {0, 0, 12, 12, 12, 30, 30}, 24, 40},
      {"all_rows_in_one_group", {0, 0, 70, 70}, 16, 32},
      {"no_bias", {0, 5, 9}, 40, 130, false},
      {"one_group", {0, 37}, 20, 24},
      {"one_row", {0, 0, 1, 1, 1}, 48, 96},
      {"several_tiles", {0, 131, 131, 420}, 72, 136},
      {"deep_groups", {0, 300, 301}, 264, 18},
      {"wide", {0, 3, 6}, 600, 300},
      {"one_input_and_output", {0, 2, 7}, 1, 1},
      {"many_groups", {0, 1, 1, 2, 5, 5, 5, 9, 10, 11, 11, 14, 16, 17}, 7, 9, false},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const auto groups = static_cast<std::int64_t>(problem.offsets.size()) - 1,
                                rows = static_cast<std::int64_t>(problem.offsets.back());
                     const ValueId src =
                         graph.add_input("src", {{rows, problem.inputs}, dtype}, Initializer::normal(1));
                     const ValueId weight =
                         graph.add_parameter("weight", {{groups, problem.outputs, problem.inputs}, dtype},
                                             Initializer::normal(0.2));
                     const ValueId offsets = graph.add_input("offsets", {{groups + 1}, DType::i32},
                                                             Initializer::listed(problem.offsets));
                     const ValueId bias =
                         problem.bias ? graph.add_parameter("bias", {{groups * problem.outputs}, dtype},
                                                            Initializer::normal(0.2))
                                      : kNone;
                     graph.mark_output(grouped_dense(graph, "y", src, weight, offsets, bias));
                   }});
  return all;
}

}  // namespace

const graph::OpDef grouped_dense_op{.name = "grouped_dense",
                                    .infer = infer_grouped_dense,
                                    .cost = cost_grouped_dense,
                                    .gradient = gradient,
                                    .cases = cases_grouped_dense,
                                    .describe = describe_grouped_dense,
                                    .lowering = graph::Lowering::computes,
                                    .category = graph::Category::gemm};
const graph::OpDef grouped_dense_d_src_op{.name = "grouped_dense_d_src",
                                          .infer = infer_d_src,
                                          .cost = cost_d_src,
                                          .describe = describe_grouped_dense,
                                          .lowering = graph::Lowering::computes,
                                          .category = graph::Category::gemm};
const graph::OpDef grouped_dense_d_weight_op{.name = "grouped_dense_d_weight",
                                             .infer = infer_d_weight,
                                             .cost = cost_d_weight,
                                             .lowering = graph::Lowering::computes,
                                             .category = graph::Category::gemm};

ValueId grouped_dense(Graph& graph, const std::string& name, ValueId src, ValueId weight, ValueId offsets,
                      ValueId bias) {
  std::vector<ValueId> inputs{src, weight, offsets};
  if (bias != kNone) inputs.push_back(bias);
  return graph.add(grouped_dense_op, name, std::move(inputs));
}

std::vector<const graph::OpDef*> grouped_dense_ops() {
  return {&grouped_dense_op, &grouped_dense_d_src_op, &grouped_dense_d_weight_op};
}

}  // namespace trainyard::ops
