#include "predict/graph_features/undirected_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trainyard::predict {

UndirectedGraph::UndirectedGraph(int size, const std::vector<Edge>& edges) {
  std::vector<std::pair<int, int>> both;
  both.reserve(2 * edges.size());
  for (const Edge& edge : edges) {
    if (edge.a == edge.b) continue;
    both.emplace_back(edge.a, edge.b);
    both.emplace_back(edge.b, edge.a);
  }
  std::sort(both.begin(), both.end());
  both.erase(std::unique(both.begin(), both.end()), both.end());
  first_.assign(static_cast<std::size_t>(size) + 1, 0);
  for (const auto& [from, to] : both) {
    ++first_[static_cast<std::size_t>(from) + 1];
    neighbours_.push_back(to);
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

std::vector<int> UndirectedGraph::largest_component() const {
  std::vector<bool> seen(static_cast<std::size_t>(size()), false);
  std::vector<int> largest, component;
  for (int start = 0; start < size(); ++start) {
    if (seen[static_cast<std::size_t>(start)]) continue;
    component.assign(1, start);
    seen[static_cast<std::size_t>(start)] = true;
    for (std::size_t i = 0; i < component.size(); ++i)
      for (const int next : neighbours(component[i]))
        if (!seen[static_cast<std::size_t>(next)]) {
          seen[static_cast<std::size_t>(next)] = true;
          component.push_back(next);
        }
    if (component.size() > largest.size()) largest = component;
  }
  std::sort(largest.begin(), largest.end());
  return largest;
}

UndirectedGraph UndirectedGraph::induced(const std::vector<int>& vertices) const {
  std::vector<int> number(static_cast<std::size_t>(size()), -1);
  for (std::size_t i = 0; i < vertices.size(); ++i)
    number[static_cast<std::size_t>(vertices[i])] = static_cast<int>(i);
  std::vector<Edge> edges;
  for (const int vertex : vertices)
    for (const int next : neighbours(vertex))
      if (vertex < next && number[static_cast<std::size_t>(next)] >= 0)
        edges.push_back({number[static_cast<std::size_t>(vertex)], number[static_cast<std::size_t>(next)]});
  return UndirectedGraph(static_cast<int>(vertices.size()), edges);
}

}  // namespace trainyard::predict
