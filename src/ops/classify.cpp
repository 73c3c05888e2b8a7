#include "ops/classify.h"

#include <fmt/core.h>

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
  node.want_rank(1, 2);
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  if (weight[1] != src[1])
    node.refuse("weight is {}, input is {}: the last dimensions must agree", weight.to_string(),
                src.to_string());
  if (!(node.input_shape(2) == Shape{weight[0]}))
    node.refuse("bias is {}, wants {}", node.input_shape(2).to_string(), weight[0]);
  const auto& labels = node.input(3).type;
  if (labels.dtype != DType::i32 || !(labels.shape == Shape{src[0]}))
    node.refuse("labels are {}, wants i32 {}", labels.to_string(), src[0]);
  const DType sums = sum_type(node.dtype());
  const Shape logits{src[0], weight[0]};
  std::vector<TensorType> types{
      {logits, node.dtype()}, {{}, sums}, {logits, sums}, {logits, node.dtype()}, {src, node.dtype()}};
  if (node.attrs<ClassifyAttrs>().dropout.rate > 0) types.push_back(types.back());
  return types;
}

Cost cost(const NodeView& node) {
  return {.flops = 4 * node.input_shape(0)[0] * node.input_shape(1).elements(),
          .elementwise_flops = 7 * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<ClassifyAttrs>();
  const std::string before = attrs.dropout.rate > 0 ? fmt::format("dropout {}, ", attrs.dropout.rate) : "";
  return before + (attrs.mask_scale != 0 ? "back through a relu" : "");
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t classes;
    ClassifyAttrs attrs;
  };
  const Problem problems[] = {{"ten", {5, 64}, 10, {}},
                              {"through_relu_and_dropout", {6, 1024}, 10, {0, 2}},
                              {"with_dropout", {5, 256}, 10, {0, 2, {0.5, 3}}},
                              {"odd_with_dropout", {3, 21}, 4, {0.1, 0, {0.2, 5}}},
                              {"odd_smoothed", {4, 37}, 3, {0.1, 1}},
                              {"many", {3, 160}, 32, {}}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const std::int64_t classes = problem.classes, inputs = problem.src[1];
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     const ValueId weight = graph.add_state("weight", {{classes, inputs}, dtype},
                                                            graph::Role::parameter, Initializer::normal(0.2));
                     const ValueId bias = graph.add_state("bias", {{classes}, dtype}, graph::Role::parameter,
                                                          Initializer::normal(0.2));
                     const ValueId labels =
                         graph.add_input("labels", {{problem.src[0]}, DType::i32},
                                         Initializer::integers(0, static_cast<double>(classes)));
                     for (const ValueId output :
                          graph.add_node(classify_op, "y", {src, weight, bias, labels}, problem.attrs))
                       graph.mark_output(output);
                   }});
  return all;
}

}  // namespace

const graph::OpDef classify_op{.name = "classify",
                               .infer = infer,
                               .cost = cost,
                               .cases = cases,
                               .describe = describe,
                               .lowering = graph::Lowering::computes,
                               .category = graph::Category::gemm};

}  // namespace trainyard::ops
