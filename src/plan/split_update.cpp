#include <algorithm>
#include <numeric>

#include "ops/update.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using graph::Node;
using graph::ValueId;

// A part below this is not worth a kernel of its own.
constexpr std::int64_t kLeastElements = std::int64_t{1} << 20;

class Splitter {
 public:
  Splitter(const graph::Graph& graph, std::size_t update)
      : graph_(graph), update_(update), node_(graph.nodes()[update]) {
    groups_ = 2 + static_cast<std::size_t>(node_.attrs<ops::UpdateAttrs>().slots());
    parameters_ = static_cast<std::size_t>(ops::updated_parameters({graph, node_}));
    std::size_t copy = groups_ * parameters_;
    copies_.assign(parameters_, graph::kNone);
    for (std::size_t p = 0; p < parameters_ && copy < node_.inputs.size(); ++p)
      if (graph.shape(node_.inputs[p]).rank() >= 2) copies_[p] = node_.inputs[copy++];
  }

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

  // The last node that makes the gradient of a parameter, or reads the parameter.
  std::size_t ready_after(std::size_t parameter) const {
    const ValueId value = node_.inputs[parameter], gradient = node_.inputs[parameters_ + parameter];
    std::size_t last = 0;
    for (std::size_t n = 0; n < update_; ++n) {
      const Node& node = graph_.nodes()[n];
      const auto has = [&](ValueId input) {
        return std::count(node.inputs.begin(), node.inputs.end(), input) > 0;
      };
      const bool reads = has(value) || has(copies_[parameter]);
      const bool makes = std::count(node.outputs.begin(), node.outputs.end(), gradient) > 0;
      if (reads || makes) last = n;
    }
    return last;
  }

  std::vector<Part> parts() const {
    std::vector<std::size_t> ready(parameters_), order(parameters_);
    for (std::size_t p = 0; p < parameters_; ++p) ready[p] = ready_after(p);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ready[a] < ready[b]; });
    std::vector<Part> parts(1);
    std::int64_t elements = 0;
    for (const std::size_t p : order) {
      if (elements >= kLeastElements && ready[p] > parts.back().last) {
        parts.emplace_back();
        elements = 0;
      }
      parts.back().last = ready[p];
      parts.back().members.push_back(p);
      elements += graph_.shape(node_.inputs[p]).elements();
    }
    for (Part& part : parts) std::sort(part.members.begin(), part.members.end());
    return parts;
  }

  Node part_of(const std::vector<std::size_t>& members) const {
    Node part = node_;
    part.inputs.clear();
    for (std::size_t group = 0; group < groups_; ++group)
      for (const std::size_t member : members)
        part.inputs.push_back(node_.inputs[group * parameters_ + member]);
    int& copies = std::any_cast<ops::UpdateAttrs&>(part.attributes).rounded_copies = 0;
    for (const std::size_t member : members) {
      if (copies_[member] == graph::kNone) continue;
      part.inputs.push_back(copies_[member]);
      ++copies;
    }
    return part;
  }

  const graph::Graph& graph_;
  std::size_t update_;
  const Node& node_;
  std::size_t groups_ = 0, parameters_ = 0;
  std::vector<ValueId> copies_;  // of each parameter; kNone: it has none
};

}  // namespace

graph::Graph split_update(const graph::Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (graph.nodes()[n].op == &ops::update_op) return Splitter(graph, n).run();
  return graph;
}

}  // namespace trainyard::plan
