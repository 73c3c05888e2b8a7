#pragma once

// This file declares the fields that are read of TensorFlow's nodes, and the shapes and costs that follow
// from them.

#include "interchange/interchange_graph.h"

namespace trainyard::interchange::tensorflow {

// A Value is an attribute; which field is set depends on its kind.
struct Value {
  std::string text;                    // bytes, the name of a type, a number, a truth
  std::vector<std::int64_t> integers;  // a number, a list of them, or what a small constant holds
  std::vector<TensorSpec> shapes;      // a shape, a list of them, or that of a constant
  bool truth = false;
};

struct Node {
  OpNode* op = nullptr;
  std::map<std::string, Value, std::less<>> attributes;

  const Value* find(std::string_view name) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
};

// "DT_FLOAT" -> "f32"; empty where there is no name.
std::string dtype_of(std::string_view type);

// Fills in the unknown types and shapes of outputs, visiting every op after those it reads from, and the cost
// of each op.
// An open first dimension of a placeholder is `batch`.
void infer_shapes(std::vector<Node>& nodes, ExchangeGraph& graph, std::int64_t batch);
// Whether shape and cost of ops of this type follow by a rule.
bool has_formula(std::string_view type);
void count_costs(const std::vector<Node>& nodes, ExchangeGraph& graph);

}  // namespace trainyard::interchange::tensorflow

namespace trainyard::interchange {

// Returns a TensorFlow graph in protobuf's text form (.pbtxt), as Driple reads it. Shapes are those the file
// says, of constants and variables, or follow from them by the rules of common ops; flops follow from shapes.
// Functions of the graph's library are not looked into. A variable counts as parameters when an optimizer's
// op applies to it, or when there is no such op at all. Where a placeholder leaves its first dimension open,
// it is `batch`. Error (config) begins with `who`.
ExchangeGraph read_graph_def(std::string_view text, const std::string& who, std::int64_t batch = 1);

// Returns the text form of a TensorFlow graph in protobuf's binary form (.pb), as far as it is read there:
// contents of large constants are left out. Error (config) begins with `who`.
std::string text_of_graph_def(std::string_view bytes, const std::string& who);

}  // namespace trainyard::interchange
