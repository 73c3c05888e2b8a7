#include "graph/verifier.h"

#include "graph/op_def.h"

namespace trainyard::graph {

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
      changed[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(i)])] = true;
    }
  }
  for (const ValueId output : graph.outputs())
    if (!ready[static_cast<std::size_t>(output)])
      fail(ErrorKind::internal, "graph: output '{}' is never made", graph.value(output).name);
}

}  // namespace trainyard::graph
