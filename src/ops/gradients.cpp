#include "ops/gradients.h"

#include "graph/autodiff.h"
#include "ops/add.h"
#include "ops/fill.h"

namespace trainyard::ops {

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
