#pragma once

#include "backend/backend.h"
#include "plan/passes.h"

namespace trainyard::plan {

// Rewriter is the base of the passes that join nodes: it holds a copy of the node list, in which a removed
// node has no op, and says who makes and who reads a value.
class Rewriter {
 protected:
  using Node = graph::Node;
  using NodeId = graph::NodeId;
  using ValueId = graph::ValueId;

  Rewriter(const graph::Graph& graph, const backend::Backend& backend, std::vector<std::string>& notes)
      : graph_(graph), backend_(backend), nodes_(graph.nodes()), notes_(notes) {}
  ~Rewriter() = default;

  // Call it once, at the end.
  graph::Graph result() {
    std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
    graph::Graph result = graph_;
    result.replace_nodes(std::move(nodes_));
    return result;
  }

  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  // Visits the nodes of one op; readers and producers are listed anew, since earlier visits changed them.
  template <typename Visit>
  void each(const graph::OpDef& op, const Visit& visit) {
    read_by_.assign(graph_.values().size(), {});
    producer_.assign(graph_.values().size(), graph::kNone);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (const ValueId input : nodes_[n].inputs) read_by_[index(input)].push_back(static_cast<NodeId>(n));
      for (const ValueId output : nodes_[n].outputs) producer_[index(output)] = static_cast<NodeId>(n);
    }
    for (const ValueId output : graph_.outputs()) read_by_[index(output)].push_back(graph::kNone);
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].op == &op) visit(static_cast<NodeId>(n));
  }

  bool read_once(ValueId value) const { return read_by_[index(value)].size() == 1; }
  Node* producer(ValueId value) {
    const NodeId id = producer_[index(value)];
    return id == graph::kNone ? nullptr : &nodes_[index(id)];
  }

  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    notes_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::string declined(const Node& node) const { return plan::declined(graph_, node, backend_); }

  const graph::Graph& graph_;
  const backend::Backend& backend_;
  std::vector<Node> nodes_;
  std::vector<std::string>& notes_;
  std::vector<std::vector<NodeId>> read_by_;
  std::vector<NodeId> producer_;
};

}  // namespace trainyard::plan
