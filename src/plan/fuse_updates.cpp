#include "ops/dense.h"
#include "ops/update.h"
#include "plan/passes.h"
#include "plan/step_plan.h"

namespace trainyard::plan {

namespace {

using graph::Node;
using graph::ValueId;

// Below this size a kernel of its own costs more than a stored gradient.
constexpr std::int64_t kLeastFused = std::int64_t{1} << 20;

// Returns whether the update must have all gradients before it changes the first parameter.
bool updates_at_once(const Node& update) { return update.attrs<ops::UpdateAttrs>().clip_norm > 0; }

class UpdateFuser {
 public:
  UpdateFuser(const graph::Graph& graph, const backend::Backend& backend, std::vector<std::string>& notes)
      : graph_(graph), backend_(backend), nodes_(graph.nodes()), notes_(notes) {}

  graph::Graph run() {
    const auto update = std::find_if(nodes_.begin(), nodes_.end(),
                                     [](const Node& node) { return node.op == &ops::update_op; });
    if (update == nodes_.end()) return graph_;
    if (updates_at_once(*update)) {
      notes_.emplace_back("gradients stay apart from their update: it needs the norm of all of them");
      return graph_;
    }
    parameters_ = parameters_of(graph_, *update);
    for (Node& node : nodes_)
      if (node.op == &ops::dense_d_weight_op) join(node, *update);
    return rebuilt(*update);
  }

 private:
  const UpdatedParameter* parameter_by(ValueId gradient) const {
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const UpdatedParameter& p) { return p.gradient == gradient; });
    return found == parameters_.end() ? nullptr : &*found;
  }

  bool read_once(ValueId value) const {
    const std::vector<ValueId>& outputs = graph_.outputs();
    auto readers = std::count(outputs.begin(), outputs.end(), value);
    for (const Node& node : graph_.nodes())
      readers += std::count(node.inputs.begin(), node.inputs.end(), value);
    return readers == 1;
  }

  void join(Node& d_weight, const Node& update) {
    if (d_weight.outputs.size() != 2) return;
    const UpdatedParameter *weight = parameter_by(d_weight.outputs[0]),
                           *bias = parameter_by(d_weight.outputs[1]);
    if (weight == nullptr || bias == nullptr || !read_once(weight->gradient) || !read_once(bias->gradient) ||
        graph_.shape(weight->value).elements() < kLeastFused)
      return;
    Node fused = update;
    fused.op = &ops::dense_update_op;
    fused.name = d_weight.name + "/update";
    fused.inputs = d_weight.inputs;
    add_parameters(fused, {*weight, *bias});
    if (const std::string reason = declined(graph_, fused, backend_); !reason.empty()) {
      notes_.push_back(fmt::format("gradient '{}' stays apart from its update: {}", d_weight.name, reason));
      return;
    }
    notes_.push_back(fmt::format("gradient '{}' joins its update", d_weight.name));
    joined_.push_back({std::move(fused), weight->value, weight->copy});
    const ValueId gone[] = {weight->value, bias->value};
    std::erase_if(parameters_,
                  [&](const UpdatedParameter& p) { return p.value == gone[0] || p.value == gone[1]; });
    d_weight = {};
  }

  // Each of the joined nodes follows the last node that reads its weights.
  graph::Graph rebuilt(Node& update) {
    if (joined_.empty()) return graph_;
    std::vector<std::vector<Node>> behind(nodes_.size());
    for (Joined& joined : joined_) behind[last_reader(joined)].push_back(std::move(joined.node));
    if (parameters_.empty()) {
      update = {};
    } else {
      update.inputs.clear();
      add_parameters(update, parameters_);
    }
    std::vector<Node> nodes;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].op != nullptr) nodes.push_back(std::move(nodes_[n]));
      for (Node& node : behind[n]) nodes.push_back(std::move(node));
    }
    graph::Graph result = graph_;
    result.replace_nodes(std::move(nodes));
    return result;
  }

  struct Joined {
    Node node;
    ValueId weight, copy;
  };

  // Also counts the last node that makes an input of the joined node; `update` itself stands behind them all.
  std::size_t last_reader(const Joined& joined) const {
    std::size_t last = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.op == nullptr || node.op == &ops::update_op) continue;
      const auto has = [](const std::vector<ValueId>& values, ValueId value) {
        return std::count(values.begin(), values.end(), value) > 0;
      };
      if (has(node.inputs, joined.weight) || has(node.inputs, joined.copy) ||
          has(node.outputs, joined.node.inputs[0]) || has(node.outputs, joined.node.inputs[1]))
        last = n;
    }
    return last;
  }

  const graph::Graph& graph_;
  const backend::Backend& backend_;
  std::vector<Node> nodes_;
  std::vector<std::string>& notes_;
  std::vector<UpdatedParameter> parameters_;
  std::vector<Joined> joined_;
};

}  // namespace

graph::Graph fuse_updates(const graph::Graph& graph, const backend::Backend& backend,
                          std::vector<std::string>& notes) {
  return UpdateFuser(graph, backend, notes).run();
}

namespace {

// A part below this is not worth a kernel of its own.
constexpr std::int64_t kLeastInPart = std::int64_t{1} << 20;

class Splitter {
 public:
  Splitter(const graph::Graph& graph, std::size_t update)
      : graph_(graph), update_(update), parameters_(parameters_of(graph, graph.nodes()[update])) {}

  graph::Graph run() {
    std::vector<Node> nodes;
    std::vector<std::vector<Node>> behind(update_ + 1);  // parts, by the node that they follow
    for (const auto& [last, members] : parts()) behind[last].push_back(part_of(members));
    int number = 0;
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (n != update_) nodes.push_back(graph_.nodes()[n]);
      if (n > update_) continue;
      for (Node& part : behind[n]) {
        if (number++ > 0) part.name += fmt::format("/{}", number);
        nodes.push_back(std::move(part));
      }
    }
    graph::Graph result = graph_;
    result.replace_nodes(std::move(nodes));
    return result;
  }

 private:
  struct Part {
    std::size_t last;                  // node after which it may run
    std::vector<std::size_t> members;  // parameters, in their order
  };

  // Returns the last node that makes the gradient of a parameter, adds to it, or reads the parameter.
  std::size_t ready_after(const UpdatedParameter& parameter) const {
    std::size_t last = 0;
    for (std::size_t n = 0; n < update_; ++n) {
      const Node& node = graph_.nodes()[n];
      const auto reads = [&](ValueId input) {
        return std::count(node.inputs.begin(), node.inputs.end(), input) > 0;
      };
      const bool makes = std::count(node.outputs.begin(), node.outputs.end(), parameter.gradient) > 0;
      if (makes || reads(parameter.gradient) || reads(parameter.value) || reads(parameter.copy)) last = n;
    }
    return last;
  }

  std::vector<Part> parts() const {
    std::vector<std::size_t> ready, order(parameters_.size());
    for (const UpdatedParameter& parameter : parameters_) ready.push_back(ready_after(parameter));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ready[a] < ready[b]; });
    std::vector<Part> parts(1);
    std::int64_t elements = 0;
    for (const std::size_t p : order) {
      if (elements >= kLeastInPart && ready[p] > parts.back().last) {
        parts.emplace_back();
        elements = 0;
      }
      parts.back().last = ready[p];
      parts.back().members.push_back(p);
      elements += graph_.shape(parameters_[p].value).elements();
    }
    for (Part& part : parts) std::sort(part.members.begin(), part.members.end());
    return parts;
  }

  Node part_of(const std::vector<std::size_t>& members) const {
    std::vector<UpdatedParameter> parameters;
    for (const std::size_t member : members) parameters.push_back(parameters_[member]);
    Node part = graph_.nodes()[update_];
    part.inputs.clear();
    add_parameters(part, parameters);
    return part;
  }

  const graph::Graph& graph_;
  std::size_t update_;
  std::vector<UpdatedParameter> parameters_;
};

}  // namespace

graph::Graph split_update(const graph::Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (graph.nodes()[n].op == &ops::update_op)
      return updates_at_once(graph.nodes()[n]) ? graph : Splitter(graph, n).run();
  return graph;
}

}  // namespace trainyard::plan
