#include <algorithm>
#include <numeric>

#include "ops/update.h"
#include "plan/passes.h"
#include "plan/updated_parameters.h"

namespace trainyard::plan {
namespace {

using graph::Node;
using graph::ValueId;

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

  // The last node that makes the gradient of a parameter, or reads the parameter.
  std::size_t ready_after(const UpdatedParameter& parameter) const {
    std::size_t last = 0;
    for (std::size_t n = 0; n < update_; ++n) {
      const Node& node = graph_.nodes()[n];
      const auto reads = [&](ValueId input) {
        return std::count(node.inputs.begin(), node.inputs.end(), input) > 0;
      };
      const bool makes = std::count(node.outputs.begin(), node.outputs.end(), parameter.gradient) > 0;
      if (makes || reads(parameter.value) || reads(parameter.copy)) last = n;
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
    if (graph.nodes()[n].op == &ops::update_op) return Splitter(graph, n).run();
  return graph;
}

}  // namespace trainyard::plan
