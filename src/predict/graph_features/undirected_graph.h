#pragma once

#include <span>
#include <vector>

namespace trainyard::predict {

// Vertices 0 to size() - 1 and who is beside whom; no loops, no edge twice.
class UndirectedGraph {
 public:
  struct Edge {
    int a, b;
  };
  // Edges may be given in either direction and several times; loops are left out.
  UndirectedGraph(int size, const std::vector<Edge>& edges);

  int size() const { return static_cast<int>(first_.size()) - 1; }
  std::span<const int> neighbours(int vertex) const {
    const auto at = static_cast<std::size_t>(vertex);
    return {neighbours_.data() + first_[at], neighbours_.data() + first_[at + 1]};
  }

  // The vertices of the largest connected part, ascending; of several as large the one with the first vertex.
  std::vector<int> largest_component() const;
  // Only these vertices, numbered in their order.
  UndirectedGraph induced(const std::vector<int>& vertices) const;

 private:
  std::vector<std::size_t> first_;
  std::vector<int> neighbours_;
};

}  // namespace trainyard::predict
