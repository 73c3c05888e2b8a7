#include "graph/printer.h"

#include <fmt/core.h>

#include "graph/op_def.h"

namespace trainyard::graph {

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

}  // namespace trainyard::graph
