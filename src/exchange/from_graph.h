#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "exchange/exchange_graph.h"
#include "graph/graph.h"

namespace trainyard::exchange {

// A graph of ours, with the costs that its ops declare. The type of an activation is its kind ("relu",
// "relu_grad"), of a recurrent layer its cell; of all others the name of the op.
ExchangeGraph from_graph(const graph::Graph& graph, const std::string& name);

TensorSpec spec_of(const graph::TensorType& type);

// Appends nodes of a graph of ours one by one.
class NodeConverter {
 public:
  NodeConverter(const graph::Graph& graph, ExchangeGraph& out) : graph_(graph), out_(out) {}

  void append(graph::NodeId node);
  // The value is output `output` of a node that was appended otherwise.
  void made_by(graph::ValueId value, OpInput producer);
  // Nothing where no op makes it.
  std::optional<OpInput> producer(graph::ValueId value) const;

 private:
  const graph::Graph& graph_;
  ExchangeGraph& out_;
  std::vector<OpInput> producers_;  // by value; node -1: no op makes it
  std::unordered_set<graph::ValueId> counted_;
};

}  // namespace trainyard::exchange
