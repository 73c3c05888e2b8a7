#pragma once

#include <unordered_set>

#include "graph/graph.h"

namespace trainyard::interchange {

inline constexpr std::int64_t kUnknown = -1;

// Holds the known properties of a tensor.
struct TensorSpec {
  bool has_shape = false;          // false: not even the rank is known
  std::vector<std::int64_t> dims;  // kUnknown where one is not known
  std::string dtype;               // "f32", "bf16", "i64", "bool", ...; empty: not known

  // Returns nothing where a dimension is not known, or their product is beyond any tensor (kMaxElements).
  std::optional<std::int64_t> elements() const;
  std::int64_t bytes() const;     // 0 where not known
  std::string to_string() const;  // "f32 1x?x24x24", "f32 scalar", "f32 of unknown shape"
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Returns the bytes of one element; 0 for a type that has no size (strings) or is not known.
std::int64_t bytes_of_type(std::string_view dtype);

struct OpInput {
  int node = 0;    // index of the op that makes it
  int output = 0;  // which of that op's; 0 of a control edge
  bool control = false;
  friend bool operator==(const OpInput&, const OpInput&) = default;
};

struct OpNode {
  std::string name, type;
  std::string device;  // as the file says it; often empty
  std::vector<OpInput>
      inputs;  // made by other ops; inputs of the graph and its parameters are not among them
  std::vector<TensorSpec> outputs;
  std::vector<std::pair<std::string, std::string>> attributes;     // in words
  std::int64_t flops = 0, elementwise_flops = 0, bytes_moved = 0;  // as graph::Cost counts them
  std::int64_t parameters = 0;  // trained numbers that this op is the first to read
};

// An ExchangeGraph is a graph of ops of any origin: enough to count, draw and describe it for prediction. The
// order is that of the origin; edges may go either way, and in a circle.
struct ExchangeGraph {
  std::string name;
  std::vector<OpNode> nodes;
};

struct GraphTotals {
  std::int64_t ops = 0, edges = 0, control_edges = 0;
  std::int64_t flops = 0, elementwise_flops = 0, bytes_moved = 0, parameters = 0;
  std::int64_t unknown_shapes = 0;  // ops of whose outputs one has no known size
  friend bool operator==(const GraphTotals&, const GraphTotals&) = default;
};

GraphTotals totals_of(const ExchangeGraph& graph);

// Every op after those it reads from. Ops of a circle follow in the order of the graph where nothing else is
// left, so that the result is always a permutation.
std::vector<int> topological_order(const ExchangeGraph& graph);

// A graph of ours, with the costs that its ops declare. The type of an activation is its kind ("relu",
// "relu_grad"), of a recurrent layer its cell; of all others the name of the op.
ExchangeGraph from_graph(const graph::Graph& graph, const std::string& name);

TensorSpec spec_of(const graph::TensorType& type);

// Appends the nodes of one of our graphs one by one.
class NodeConverter {
 public:
  NodeConverter(const graph::Graph& graph, ExchangeGraph& out) : graph_(graph), out_(out) {}

  void append(graph::NodeId node);
  // The value is output `output` of a node that was appended otherwise.
  void made_by(graph::ValueId value, OpInput producer);
  // Returns nothing where no op makes the value.
  std::optional<OpInput> producer(graph::ValueId value) const;

 private:
  const graph::Graph& graph_;
  ExchangeGraph& out_;
  std::vector<OpInput> producers_;  // by value; node -1: no op makes it
  std::unordered_set<graph::ValueId> counted_;
};

}  // namespace trainyard::interchange
