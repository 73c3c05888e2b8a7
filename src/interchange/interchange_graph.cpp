#include "interchange/interchange_graph.h"

#include <queue>

#include "base/file.h"
#include "graph/autodiff.h"
#include "graph/op_def.h"
#include "interchange/dot.h"
#include "interchange/graph_def.h"
#include "interchange/text_format.h"
#include "ops/elementwise.h"
#include "ops/sequence/recurrent.h"

namespace trainyard::interchange {

std::int64_t bytes_of_type(std::string_view dtype) {
  for (const auto& [name, bytes] : {std::pair<std::string_view, std::int64_t>{"f32", 4},
                                    {"i32", 4},
                                    {"u32", 4},
                                    {"f64", 8},
                                    {"i64", 8},
                                    {"u64", 8},
                                    {"c64", 8},
                                    {"c128", 16},
                                    {"f16", 2},
                                    {"bf16", 2},
                                    {"i16", 2},
                                    {"u16", 2},
                                    {"i8", 1},
                                    {"u8", 1},
                                    {"bool", 1}})
    if (name == dtype) return bytes;
  return 0;
}

std::optional<std::int64_t> TensorSpec::elements() const {
  if (!has_shape) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) return std::nullopt;
    count *= dim;
    if (count > kMaxElements) return std::nullopt;
  }
  return count;
}

std::int64_t TensorSpec::bytes() const { return elements().value_or(0) * bytes_of_type(dtype); }

std::string TensorSpec::to_string() const {
  std::string text = dtype.empty() ? "?" : dtype;
  if (!has_shape) return text + " of unknown shape";
  if (dims.empty()) return text + " scalar";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += i == 0 ? ' ' : 'x';
    text += dims[i] < 0 ? std::string("?") : std::to_string(dims[i]);
  }
  return text;
}

GraphTotals totals_of(const ExchangeGraph& graph) {
  GraphTotals totals;
  totals.ops = static_cast<std::int64_t>(graph.nodes.size());
  for (const OpNode& node : graph.nodes) {
    for (const OpInput& input : node.inputs) ++(input.control ? totals.control_edges : totals.edges);
    totals.flops += node.flops;
    totals.elementwise_flops += node.elementwise_flops;
    totals.bytes_moved += node.bytes_moved;
    totals.parameters += node.parameters;
    bool known = true;
    for (const TensorSpec& output : node.outputs) known = known && output.elements().has_value();
    if (!known) ++totals.unknown_shapes;
  }
  return totals;
}

std::vector<int> topological_order(const ExchangeGraph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<int> waits(count, 0);
  std::vector<std::vector<int>> readers(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const OpInput& input : graph.nodes[i].inputs) {
      readers[static_cast<std::size_t>(input.node)].push_back(static_cast<int>(i));
      ++waits[i];
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  std::vector<bool> done(count, false);
  std::size_t first_left = 0;  // all before it are done
  while (order.size() < count) {
    if (ready.empty()) {
      while (done[first_left]) ++first_left;
      ready.push(static_cast<int>(first_left));
    }
    const auto node = static_cast<std::size_t>(ready.top());
    ready.pop();
    if (done[node]) continue;
    done[node] = true;
    order.push_back(static_cast<int>(node));
    for (const int reader : readers[node])
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  return order;
}

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

}  // namespace trainyard::interchange
