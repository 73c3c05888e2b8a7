#include "joined_problems.h"

#include "ops/layer_norm.h"
#include "ops/smooth_unit.h"

namespace trainyard::conformance {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::TensorType;
using graph::ValueId;

struct Norm {
  Shape rows;
  bool centred, columns;
};

// A norm of a sum, and its gradient, to which another gradient is added.
void joined_norm(Graph& graph, DType dtype, const Norm& norm) {
  const TensorType rows{norm.rows, dtype}, channels{{norm.rows[1]}, dtype};
  ops::LayerNormAttrs attrs{.centred = norm.centred, .adds = true};
  const ValueId src = graph.add_input("src", rows, Initializer::normal(2));
  const ValueId gamma = graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2));
  std::vector<ValueId> inputs{src, gamma};
  if (norm.centred) inputs.push_back(graph.add_parameter("beta", channels, Initializer::normal(1)));
  inputs.push_back(graph.add_input("term", rows, Initializer::normal(1)));
  const std::vector<ValueId> made = graph.add_node(ops::layer_norm_op, "norm", inputs, attrs);
  for (const ValueId output : made) graph.mark_output(output);
  const ValueId d_dst = graph.add_input("d_dst", rows, Initializer::normal(1));
  std::vector<ValueId> of_gradient{d_dst, made.back(), gamma, made[1]};
  if (norm.centred) of_gradient.push_back(made[2]);
  of_gradient.push_back(graph.add_input("d_rest", rows, Initializer::normal(1)));
  attrs.column_sums = norm.columns;
  for (const ValueId gradient : graph.add_node(ops::layer_norm_grad_op, "y", of_gradient, attrs))
    graph.mark_output(gradient);
}

// The sums of columns alone: nothing is added to the gradient.
void summed_norm(Graph& graph, DType dtype) {
  const TensorType rows{{70, 132}, dtype};
  const ValueId src = graph.add_input("src", rows, Initializer::normal(2));
  const ValueId gamma = graph.add_parameter("gamma", {{132}, dtype}, Initializer::uniform(0.5, 2));
  const ValueId beta = graph.add_parameter("beta", {{132}, dtype}, Initializer::normal(1));
  const std::vector<ValueId> made =
      graph.add_node(ops::layer_norm_op, "norm", {src, gamma, beta}, ops::LayerNormAttrs{});
  const ValueId d_dst = graph.add_input("d_dst", rows, Initializer::normal(1));
  for (const ValueId gradient :
       graph.add_node(ops::layer_norm_grad_op, "y", {d_dst, src, gamma, made[1], made[2]},
                      ops::LayerNormAttrs{.column_sums = true}))
    graph.mark_output(gradient);
}

void summed_unit(Graph& graph, DType dtype, const Shape& rows, ops::SmoothKind kind) {
  const ValueId d_dst = graph.add_input("d_dst", {rows, dtype}, Initializer::normal(1));
  const ValueId src = graph.add_input("src", {rows, dtype}, Initializer::uniform(-6, 6));
  for (const ValueId made : graph.add_node(ops::smooth_unit_grad_op, "y", {d_dst, src},
                                           ops::SmoothUnitAttrs{.kind = kind, .column_sums = true}))
    graph.mark_output(made);
}

}  // namespace

std::vector<Problem> joined_problems() {
  const std::pair<const char*, Norm> norms[] = {{"rows", {{6, 64}, true, true}},
                                                {"many_rows", {{1030, 72}, true, true}},
                                                {"rms", {{70, 128}, false, true}},
                                                {"six_vectors", {{300, 768}, true, true}},
                                                {"five_vectors", {{33, 600}, true, true}},
                                                {"widest_of_warps", {{40, 1024}, false, true}},
                                                {"three_vectors", {{6000, 384}, true, true}},
                                                {"odd", {{5, 37}, true, false}},
                                                {"wide", {{9, 1536}, true, false}},
                                                {"rms_wide_odd", {{3, 1030}, false, false}}};
  std::vector<Problem> all;
  for (const auto& [name, norm] : norms)
    all.push_back({std::string("layer_norm_joined_") + name,
                   &ops::layer_norm_grad_op,
                   {"joined", [norm = norm](Graph& graph, DType dtype) { joined_norm(graph, dtype, norm); }},
                   true});
  all.push_back(
      {"layer_norm_grad_with_columns", &ops::layer_norm_grad_op, {"with_columns", summed_norm}, true});
  const std::pair<Shape, ops::SmoothKind> units[] = {{{5, 40}, ops::SmoothKind::gelu},
                                                     {{1030, 136}, ops::SmoothKind::gelu_tanh},
                                                     {{300, 512}, ops::SmoothKind::silu}};
  for (const auto& [rows, kind] : units)
    all.push_back(
        {std::string("smooth_unit_grad_with_columns_") + ops::name(kind),
         &ops::smooth_unit_grad_op,
         {"with_columns",
          [rows = rows, kind = kind](Graph& graph, DType dtype) { summed_unit(graph, dtype, rows, kind); }},
         true});
  return all;
}

}  // namespace trainyard::conformance
