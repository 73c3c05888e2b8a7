#include "ops/registry.h"

#include "graph/autodiff.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/graph_layers.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/recurrent.h"
#include "ops/shape.h"
#include "ops/update.h"

namespace trainyard::ops {

const std::vector<const graph::OpDef*>& all_ops() {
  static const std::vector<const graph::OpDef*> rows{
      &conv2d_op,
      &conv2d_d_src_op,
      &conv2d_d_weight_op,
      &conv2d_max_pool_op,
      &conv2d_max_pool_d_weight_op,
      &dense_op,
      &dense_d_src_op,
      &dense_d_weight_op,
      &dense_chain_op,
      &dense_chain_d_src_op,
      &dense_chain_d_weight_op,
      &dense_update_op,
      &max_pool_op,
      &max_pool_d_src_op,
      &average_pool_op,
      &average_pool_d_src_op,
      &batch_norm_op,
      &batch_norm_grad_op,
      &local_response_norm_op,
      &local_response_norm_grad_op,
      &activation_op,
      &activation_grad_op,
      &add_op,
      &multiply_op,
      &scale_op,
      &cast_op,
      &classify_op,
      &concat_op,
      &slice_op,
      &pad_op,
      &reshape_op,
      &dropout_op,
      &softmax_op,
      &softmax_grad_op,
      &softmax_cross_entropy_op,
      &softmax_cross_entropy_grad_op,
      &embedding_op,
      &embedding_d_table_op,
      &recurrent_op,
      &recurrent_grad_op,
      &gated_graph_conv_op,
      &gated_graph_conv_grad_op,
      &set2set_op,
      &set2set_grad_op,
      &sequence_cross_entropy_op,
      &sequence_cross_entropy_grad_op,
      &l2_penalty_op,
      &l2_penalty_grad_op,
      &fill_op,
      &update_op,
  };
  return rows;
}

std::vector<graph::ValueId> gradients_of(graph::Graph& graph, graph::ValueId loss,
                                         const std::vector<graph::ValueId>& parameters) {
  graph.set_phase(graph::Phase::backward);
  const graph::ValueId one = fill(graph, "d_loss", graph.value(loss).type, 1);
  const std::vector<graph::ValueId> gradients = backward(graph, {loss}, {one}, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (gradients[i] == graph::kNone)
      fail(ErrorKind::config, "the loss does not depend on parameter '{}'", graph.value(parameters[i]).name);
  return gradients;
}

std::vector<graph::ValueId> backward(graph::Graph& graph, const std::vector<graph::ValueId>& outputs,
                                     const std::vector<graph::ValueId>& d_outputs,
                                     const std::vector<graph::ValueId>& wanted) {
  return graph::differentiate(graph, outputs, d_outputs, wanted,
                              [](graph::Graph& g, const std::vector<graph::ValueId>& parts) {
                                return add(g, "sum_of_gradients", parts);
                              });
}

}  // namespace trainyard::ops
