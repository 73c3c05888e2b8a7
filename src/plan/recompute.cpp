#include "plan/recompute.h"

#include "ops/norm.h"

namespace trainyard::plan {

namespace {

using graph::Node;
using graph::NodeView;
using graph::Phase;
using graph::ValueId;

bool is_training_norm(const NodeView& node) {
  return node.node().op == &ops::batch_norm_op && node.attrs<ops::BatchNormAttrs>().training;
}

class Recomputer {
 public:
  Recomputer(const graph::Graph& graph, const Dropped& dropped)
      : graph_(graph), dropped_(dropped), result_{graph, {}} {}

  Recomputed run() {
    for (const Node& node : graph_.nodes()) {
      Node placed = node;
      if (node.phase == Phase::backward || node.phase == Phase::update)
        for (ValueId& input : placed.inputs) input = in_backward(input);
      for (const int i : graph::mutated_inputs({graph_, node}))
        changed_.insert(node.inputs[static_cast<std::size_t>(i)]);
      nodes_.push_back(std::move(placed));
    }
    result_.graph.replace_nodes(std::move(nodes_));
    return std::move(result_);
  }

 private:
  // Returns the value that stands for `value` in the backward pass; appends the nodes that make it.
  ValueId in_backward(ValueId value) {
    if (const auto known = made_.find(value); known != made_.end()) return known->second;
    const graph::NodeId producer = graph_.value(value).producer;
    if (producer == graph::kNone) return value;
    const Node& node = graph_.node(producer);
    if (node.phase != Phase::forward || !dropped_.contains(node.outputs.front())) return value;
    return is_training_norm({graph_, node}) ? apply_again(node, value) : copy(node, value);
  }

  ValueId copy(const Node& node, ValueId value) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(in_backward(input));
    if (have_changed(inputs)) return made_[value] = value;
    add(*node.op, node, std::move(inputs), node.attributes, node.outputs);
    return made_.at(value);
  }

  // The statistics of the batch are kept, and the running ones must not change twice.
  ValueId apply_again(const Node& node, ValueId value) {
    if (value != node.outputs[0]) return value;
    const auto& norm = node.attrs<ops::BatchNormAttrs>();
    std::vector<ValueId> inputs{in_backward(node.inputs[0]), node.inputs[1], node.inputs[2], node.outputs[1],
                                node.outputs[2]};
    if (norm.residual) inputs.push_back(in_backward(node.inputs[5]));
    if (have_changed(inputs)) return made_[value] = value;
    add(ops::batch_norm_apply_op, node, std::move(inputs),
        ops::BatchNormApplyAttrs{norm.activation, norm.residual}, {value});
    return made_.at(value);
  }

  // An update may be done with a parameter before the backward pass is; then the value stays.
  bool have_changed(const std::vector<ValueId>& inputs) const {
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return changed_.contains(input); });
  }

  void add(const graph::OpDef& op, const Node& node, std::vector<ValueId> inputs, const std::any& attributes,
           const std::vector<ValueId>& stand_for) {
    result_.graph.set_phase(Phase::backward);
    const std::vector<ValueId> outputs =
        result_.graph.add_node(op, node.name + "/again", std::move(inputs), attributes);
    result_.graph.set_phase(Phase::forward);
    for (std::size_t o = 0; o < outputs.size(); ++o) made_[stand_for[o]] = outputs[o];
    nodes_.push_back(result_.graph.nodes().back());
    result_.again.insert(outputs.front());
  }

  const graph::Graph& graph_;
  const Dropped& dropped_;
  Recomputed result_;
  std::vector<Node> nodes_;
  std::map<ValueId, ValueId> made_;  // by the value of the forward pass
  std::set<ValueId> changed_;        // by the nodes so far
};

}  // namespace

bool can_run_again(const NodeView& node) {
  return node.node().phase == Phase::forward && !node.node().outputs.empty() &&
         (graph::mutated_inputs(node).empty() || is_training_norm(node));
}

Recomputed recompute(const graph::Graph& graph, const Dropped& dropped) {
  return Recomputer(graph, dropped).run();
}

}  // namespace trainyard::plan
