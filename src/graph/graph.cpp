#include "graph/graph.h"

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
    case Role::gradient_sum:
      return "gradient sum";
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
  return add_state(name, type, Role::input, std::move(initializer));
}

ValueId Graph::add_parameter(const std::string& name, TensorType type, Initializer initializer) {
  return add_state(name, type, Role::parameter, std::move(initializer));
}

ValueId Graph::add_state(const std::string& name, TensorType type, Role role, Initializer initializer) {
  for (const std::int64_t dim : type.shape)
    if (dim <= 0)
      fail(ErrorKind::shape, "{} '{}': shape {} has a dimension below 1", graph::name(role), name,
           type.shape.to_string());
  return add_value({.name = name, .type = type, .role = role, .initializer = std::move(initializer)});
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

std::string to_text(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string inputs, outputs;
  for (const ValueId input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + graph.value(input).name;
  for (const ValueId output : node.outputs)
    outputs += (outputs.empty() ? "" : ", ") + graph.value(output).type.to_string();
  std::string attributes;
  if (node.op->describe != nullptr) attributes = node.op->describe(NodeView(graph, node));
  if (!attributes.empty()) attributes = fmt::format(" {{{}}}", attributes);
  return fmt::format("{} = {}({}){} -> {}", node.name, node.op->name, inputs, attributes, outputs);
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    text += to_text(graph, static_cast<NodeId>(n)) + "\n";
  return text;
}

void verify(const Graph& graph) {
  std::vector<bool> ready(graph.values().size(), false), changed(graph.values().size(), false);
  for (std::size_t v = 0; v < graph.values().size(); ++v)
    ready[v] = graph.values()[v].role != Role::intermediate;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto broken = [&](const char* rule, const std::string& value) {
      fail(ErrorKind::internal, "graph: {} '{}' {} '{}'", node.op->name, node.name, rule, value);
    };
    for (const ValueId input : node.inputs) {
      const auto i = static_cast<std::size_t>(input);
      if (!ready[i]) broken("reads before it is made", graph.value(input).name);
      if (changed[i]) broken("reads after another node changed", graph.value(input).name);
    }
    const NodeView view(graph, node);
    const std::vector<TensorType> types = node.op->infer(view);
    if (types.size() != node.outputs.size()) broken("has a wrong number of outputs", node.name);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const Value& output = graph.value(node.outputs[o]);
      if (ready[static_cast<std::size_t>(node.outputs[o])]) broken("makes again", output.name);
      if (!(output.type == types[o])) broken("would infer another type than that of", output.name);
      if (output.producer != static_cast<NodeId>(n)) broken("is not noted as producer of", output.name);
      ready[static_cast<std::size_t>(node.outputs[o])] = true;
    }
    for (const int i : mutated_inputs(view)) {
      const Value& value = view.input(i);
      const bool kept =
          value.producer != kNone && graph.node(value.producer).phase == Phase::prepare;  // from step to step
      if ((value.role == Role::intermediate && !kept) || value.role == Role::input)
        broken("changes", value.name);
      // A sum of gradients is changed for those who read it later.
      if (value.role != Role::gradient_sum)
        changed[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(i)])] = true;
    }
  }
  for (const ValueId output : graph.outputs())
    if (!ready[static_cast<std::size_t>(output)])
      fail(ErrorKind::internal, "graph: output '{}' is never made", graph.value(output).name);
}

}  // namespace trainyard::graph
