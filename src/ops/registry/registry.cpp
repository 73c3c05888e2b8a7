#include "ops/registry/registry.h"

#include "graph/autodiff.h"
#include "ops/broadcast.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/detection.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "ops/sequence/cached_attention.h"
#include "ops/sequence/experts.h"
#include "ops/sequence/graph_layers.h"
#include "ops/sequence/grouped_dense.h"
#include "ops/sequence/position.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"
#include "ops/smooth_unit.h"
#include "ops/update.h"

namespace trainyard::ops {

const std::vector<const graph::OpDef*>& all_ops() {
  static const std::vector<const graph::OpDef*> all = [] {
    std::vector<const graph::OpDef*> joined;
    for (const auto ops_of : {conv2d_ops,
                              conv2d_max_pool_ops,
                              dense_ops,
                              dense_chain_ops,
                              matmul_ops,
                              pool_ops,
                              resize_ops,
                              norm_ops,
                              batch_norm_apply_ops,
                              layer_norm_ops,
                              elementwise_ops,
                              smooth_unit_ops,
                              pointwise_ops,
                              shape_ops,
                              broadcast_ops,
                              loss_ops,
                              detection_ops,
                              recurrent_ops,
                              attention_ops,
                              cached_attention_ops,
                              position_ops,
                              experts_ops,
                              balance_penalty_ops,
                              grouped_dense_ops,
                              gated_graph_conv_ops,
                              set2set_ops,
                              update_ops})
      for (const graph::OpDef* op : ops_of()) joined.push_back(op);
    return joined;
  }();
  return all;
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
