#include "graph/graph.h"

#include <utility>

#include <fmt/core.h>

#include "graph/op_def.h"

namespace trainyard::graph {

std::string TensorType::to_string() const {
  return fmt::format("{} {}", trainyard::name(dtype), shape.to_string());
}

const char* name(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::parameter:
      return "parameter";
    case Role::statistic:
      return "statistic";
    case Role::optimizer_state:
      return "optimizer state";
    case Role::intermediate:
      return "intermediate";
  }
  return "?";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::prepare:
      return "prepare";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  return "?";
}

std::string Graph::unique(const std::string& name) {
  const int uses = names_[name]++;
  return uses == 0 ? name : unique(fmt::format("{}_{}", name, uses));
}

ValueId Graph::add_value(Value value) {
  value.name = unique(value.name);
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size()) - 1;
}

ValueId Graph::add_input(const std::string& name, TensorType type, Initializer initializer) {
  return add_state(name, type, Role::input, initializer);
}

ValueId Graph::add_parameter(const std::string& name, TensorType type, Initializer initializer) {
  return add_state(name, type, Role::parameter, initializer);
}

ValueId Graph::add_state(const std::string& name, TensorType type, Role role, Initializer initializer) {
  for (const std::int64_t dim : type.shape)
    if (dim <= 0)
      fail(ErrorKind::shape, "{} '{}': shape {} has a dimension below 1", graph::name(role), name,
           type.shape.to_string());
  return add_value({.name = name, .type = type, .role = role, .initializer = initializer});
}

std::vector<ValueId> Graph::add_node(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                                     std::any attributes) {
  Node node{.op = &op,
            .name = unique(name),
            .phase = phase_,
            .inputs = std::move(inputs),
            .outputs = {},
            .attributes = std::move(attributes)};
  const std::vector<TensorType> types = op.infer(NodeView(*this, node));
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (const std::int64_t dim : types[i].shape)
      if (dim <= 0) NodeView(*this, node).refuse("its output would be {}", types[i].shape.to_string());
    node.outputs.push_back(add_value({.name = fmt::format("{}:{}", node.name, i),
                                      .type = types[i],
                                      .producer = static_cast<NodeId>(nodes_.size()),
                                      .output_index = static_cast<int>(i)}));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

ValueId Graph::add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                   std::any attributes) {
  return add_node(op, name, std::move(inputs), std::move(attributes)).front();
}

std::vector<ValueId> Graph::values_with(Role role) const {
  std::vector<ValueId> found;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].role == role) found.push_back(static_cast<ValueId>(i));
  return found;
}

ValueId Graph::find(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].name == name) return static_cast<ValueId>(i);
  return kNone;
}

void Graph::replace_nodes(std::vector<Node> nodes) {
  nodes_ = std::move(nodes);
  for (Value& value : values_) value.producer = kNone;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    for (std::size_t i = 0; i < nodes_[n].outputs.size(); ++i) {
      Value& value = values_[static_cast<std::size_t>(nodes_[n].outputs[i])];
      value.producer = static_cast<NodeId>(n);
      value.output_index = static_cast<int>(i);
    }
}

std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const ValueId input : graph.nodes()[n].inputs)
      readers[static_cast<std::size_t>(input)].push_back(static_cast<NodeId>(n));
  return readers;
}

}  // namespace trainyard::graph
