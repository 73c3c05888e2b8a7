#include "exchange/from_graph.h"

#include <algorithm>

#include "graph/analysis.h"
#include "graph/op_def.h"
#include "ops/activation.h"
#include "ops/recurrent.h"

namespace trainyard::exchange {
namespace {

std::string type_of(const graph::Node& node) {
  if (node.op == &ops::activation_op) return ops::name(node.attrs<ops::ActivationAttrs>().kind);
  if (node.op == &ops::activation_grad_op)
    return std::string(ops::name(node.attrs<ops::ActivationAttrs>().kind)) + "_grad";
  if (node.op == &ops::recurrent_op) return ops::name(node.attrs<ops::RecurrentAttrs>().cell);
  if (node.op == &ops::recurrent_grad_op)
    return std::string(ops::name(node.attrs<ops::RecurrentGradAttrs>().cell)) + "_grad";
  return node.op->name;
}

}  // namespace

TensorSpec spec_of(const graph::TensorType& type) {
  return {true, {type.shape.begin(), type.shape.end()}, name(type.dtype)};
}

void NodeConverter::made_by(graph::ValueId value, OpInput producer) {
  const auto index = static_cast<std::size_t>(value);
  if (producers_.size() <= index)
    producers_.resize(std::max(index + 1, 2 * producers_.size()), {-1, 0, false});
  producers_[index] = producer;
}

std::optional<OpInput> NodeConverter::producer(graph::ValueId value) const {
  const auto index = static_cast<std::size_t>(value);
  if (index >= producers_.size() || producers_[index].node < 0) return std::nullopt;
  return producers_[index];
}

void NodeConverter::append(graph::NodeId id) {
  const graph::Node& node = graph_.node(id);
  const graph::NodeView view(graph_, node);
  const graph::Cost cost = graph::cost_of(graph_, id);
  OpNode made{.name = node.name,
              .type = type_of(node),
              .device = {},
              .inputs = {},
              .outputs = {},
              .attributes = {{"phase", graph::name(node.phase)}},
              .flops = cost.flops,
              .elementwise_flops = cost.elementwise_flops,
              .bytes_moved = cost.bytes_moved,
              .parameters = 0};
  if (node.op->describe != nullptr) made.attributes.emplace_back("description", node.op->describe(view));
  for (const graph::ValueId input : node.inputs) {
    if (const std::optional<OpInput> from = producer(input)) made.inputs.push_back(*from);
    const graph::Value& value = graph_.value(input);
    if (value.role == graph::Role::parameter && counted_.insert(input).second)
      made.parameters += value.type.shape.elements();
  }
  const int index = static_cast<int>(out_.nodes.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    made.outputs.push_back(spec_of(graph_.value(node.outputs[i]).type));
    made_by(node.outputs[i], {index, static_cast<int>(i), false});
  }
  out_.nodes.push_back(std::move(made));
}

ExchangeGraph from_graph(const graph::Graph& graph, const std::string& name) {
  ExchangeGraph out{name, {}};
  out.nodes.reserve(graph.nodes().size());
  NodeConverter converter(graph, out);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) converter.append(static_cast<graph::NodeId>(i));
  return out;
}

}  // namespace trainyard::exchange
