#include "masked_problems.h"

#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/pool.h"

namespace trainyard::conformance {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::TensorType;
using graph::ValueId;

void masked_max_pool(Graph& graph, DType dtype) {
  const ops::Window2d window = ops::with_same_padding(ops::square_window(3, 2), 7, 7);
  const Shape shape{2, 5, 7, 7};
  const ValueId src = graph.add_input("src", {shape, dtype}, Initializer::normal(1));
  const auto pooled = graph.add_node(ops::max_pool_op, "pool", {src}, ops::MaxPoolAttrs{window});
  const ValueId d_dst = graph.add_input("d_dst", graph.value(pooled[0]).type, Initializer::normal(1));
  graph.mark_output(graph.add(ops::max_pool_d_src_op, "y", {d_dst, pooled[1], pooled[0]},
                              ops::MaxPoolGradAttrs{window, shape, true}));
}

// The mask by dst itself, or by what dst follows from; and a residual that is added to it.
enum class Mask { dst, beta };
template <Mask kMask, bool kResidual>
void masked_batch_norm(Graph& graph, DType dtype) {
  const TensorType image{{3, 12, 5, 4}, dtype}, channels{{12}, dtype};
  const ValueId src = graph.add_input("src", image, Initializer::normal(2));
  const ValueId gamma = graph.add_parameter("gamma", channels, Initializer::uniform(0.5, 2));
  const ValueId beta = graph.add_parameter("beta", channels, Initializer::normal(1));
  const ValueId mean = graph.add_state("mean", channels, graph::Role::statistic, Initializer::normal(1));
  const ValueId variance =
      graph.add_state("variance", channels, graph::Role::statistic, Initializer::uniform(0.5, 2));
  std::vector<ValueId> inputs{src, gamma, beta, mean, variance};
  if (kResidual) inputs.push_back(graph.add_input("residual", image, Initializer::normal(1)));
  const auto normal =
      graph.add_node(ops::batch_norm_op, "norm", inputs,
                     ops::BatchNormAttrs{.activation = {ops::Activation::relu}, .residual = kResidual});
  graph.mark_output(normal[0]);
  const ValueId d_dst = graph.add_input("d_dst", image, Initializer::normal(1));
  constexpr bool kByDst = kMask == Mask::dst;
  for (const ValueId made : graph.add_node(
           ops::batch_norm_grad_op, "y", {d_dst, src, gamma, normal[1], normal[2], kByDst ? normal[0] : beta},
           ops::BatchNormGradAttrs{.mask_by_dst = kByDst, .mask_by_beta = !kByDst}))
    graph.mark_output(made);
}

void masked_add(Graph& graph, DType dtype) {
  std::vector<ValueId> inputs;
  for (const char* name : {"a", "b", "mask"})
    inputs.push_back(graph.add_input(name, {{2, 7, 3, 3}, dtype}, Initializer::normal(1)));
  graph.mark_output(graph.add(ops::add_op, "y", inputs, ops::AddAttrs{.mask_by_last = true}));
}

}  // namespace

std::vector<Problem> masked_problems() {
  return {{"max_pool_d_src_masked", &ops::max_pool_d_src_op, {"masked", masked_max_pool}, true},
          {"batch_norm_grad_masked",
           &ops::batch_norm_grad_op,
           {"masked", masked_batch_norm<Mask::dst, false>},
           true},
          {"batch_norm_grad_masked_by_beta",
           &ops::batch_norm_grad_op,
           {"masked_by_beta", masked_batch_norm<Mask::beta, false>},
           true},
          {"batch_norm_residual",
           &ops::batch_norm_grad_op,
           {"residual", masked_batch_norm<Mask::dst, true>},
           true},
          {"add_masked", &ops::add_op, {"masked", masked_add}, true}};
}

}  // namespace trainyard::conformance
