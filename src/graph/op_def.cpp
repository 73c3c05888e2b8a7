#include "graph/op_def.h"

namespace trainyard::graph {

void NodeView::refuse_text(const std::string& text) const {
  fail(ErrorKind::shape, "{} '{}': {}", node_.op->name, node_.name, text);
}

void NodeView::want_inputs(int least, int most) const {
  if (inputs() >= least && inputs() <= most) return;
  if (least == most) refuse("got {} inputs, wants {}", inputs(), least);
  refuse("got {} inputs, wants {} to {}", inputs(), least, most);
}

void NodeView::want_rank(int i, int rank) const {
  if (input_shape(i).rank() != rank)
    refuse("input {} '{}' is {}, wants {} dimensions", i, input(i).name, input_shape(i).to_string(), rank);
}

const char* name(Category category) {
  constexpr std::array<const char*, kCategories> kNames{
      "elementwise", "gemm", "conv", "rnn", "attention", "norm", "pool", "loss", "optimizer", "copy"};
  return kNames[static_cast<std::size_t>(category)];
}

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  elementwise_flops += other.elementwise_flops;
  bytes_moved += other.bytes_moved;
  return *this;
}

GradientContext::GradientContext(Graph& graph, NodeId node, std::vector<ValueId> d_outputs,
                                 std::vector<bool> needed)
    : graph_(graph),
      node_(graph.node(node)),
      d_outputs_(std::move(d_outputs)),
      d_inputs_(node_.inputs.size(), kNone),
      needed_(std::move(needed)) {}

std::vector<int> mutated_inputs(const NodeView& node) {
  return node.node().op->mutates == nullptr ? std::vector<int>{} : node.node().op->mutates(node);
}

std::int64_t bytes_touched(const NodeView& node) {
  std::int64_t bytes = 0;
  for (int i = 0; i < node.inputs(); ++i) bytes += node.input(i).type.bytes();
  for (int i = 0; i < node.outputs(); ++i) bytes += node.output(i).type.bytes();
  return bytes;
}

Cost elementwise_cost(const NodeView& node, std::int64_t per_element) {
  return {.elementwise_flops = per_element * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

}  // namespace trainyard::graph
