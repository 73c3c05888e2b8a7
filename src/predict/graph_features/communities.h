#pragma once

#include "interchange/interchange_graph.h"

namespace trainyard::predict {

// UndirectedGraph holds vertices 0 to size() - 1 and their neighbours, without loops or duplicate edges.
class UndirectedGraph {
 public:
  struct Edge {
    int a, b;
  };
  // Takes edges in either direction, also several times, and leaves out loops.
  UndirectedGraph(int size, const std::vector<Edge>& edges);

  int size() const { return static_cast<int>(first_.size()) - 1; }
  std::span<const int> neighbours(int vertex) const {
    const auto at = static_cast<std::size_t>(vertex);
    return {neighbours_.data() + first_[at], neighbours_.data() + first_[at + 1]};
  }

  // Returns the vertices of the largest connected part, ascending; among equals, the one with the first
  // vertex.
  std::vector<int> largest_component() const;
  // Keeps only these vertices, numbered in their order.
  UndirectedGraph induced(const std::vector<int>& vertices) const;

 private:
  std::vector<std::size_t> first_;
  std::vector<int> neighbours_;
};

// Implements asynchronous fluid communities (Pares et al., 2017): k groups start at one vertex each and
// spread; a vertex goes to the group with the greatest sum of densities (1 / size) among itself and its
// neighbours. It makes at most 100 sweeps. The method may split a group; here the lesser parts then go to the
// groups beside them. Returns the group, 0 to k - 1, of each vertex: every group has vertices and is
// connected. The same seed gives the same groups everywhere. REQUIRES: a connected graph. Throws Error
// (config) unless 1 <= k <= its size.
std::vector<int> fluid_communities(const UndirectedGraph& graph, int k, std::uint64_t seed);

// Cuts the topological order into k segments of about equal time. An op counts by the seconds that a device
// with 100 flops a byte would take, and all ops a little. Edges lead from a segment to itself or to later
// ones, unless the graph has cycles. Throws Error (config) unless 1 <= k <= number of ops.
std::vector<int> topological_segments(const interchange::ExchangeGraph& graph, int k);

}  // namespace trainyard::predict
