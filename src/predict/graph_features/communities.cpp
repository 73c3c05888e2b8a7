#include "predict/graph_features/communities.h"

#include "base/philox.h"

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

namespace {

constexpr int kMostSweeps = 100;
constexpr double kTie = 1e-4;
constexpr int kNoGroup = -1;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : philox_(seed, stream_of("fluid communities")) {}

  // Draws from 0 to end - 1. The bias of a modulo is below 2^-12 for a million vertices.
  std::uint32_t below(std::size_t end) {
    if (next_ % 4 == 0) block_ = philox_.block(next_ / 4);
    return static_cast<std::uint32_t>(block_[next_++ % 4] % end);
  }
  void shuffle(std::vector<int>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  std::uint64_t next_ = 0;
};

class Fluid {
 public:
  Fluid(const UndirectedGraph& graph, int k, std::uint64_t seed)
      : graph_(graph),
        draws_(seed),
        order_(static_cast<std::size_t>(graph.size())),
        group_(order_.size(), kNoGroup),
        size_(static_cast<std::size_t>(k), 1),
        pull_(size_.size(), 0) {
    std::iota(order_.begin(), order_.end(), 0);
    draws_.shuffle(order_);
    for (int i = 0; i < k; ++i) group_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])] = i;
  }

  // Returns whether any vertex changed its group.
  bool sweep() {
    std::iota(order_.begin(), order_.end(), 0);
    draws_.shuffle(order_);
    bool changed = false;
    for (const int vertex : order_) changed = settle(vertex) || changed;
    return changed;
  }

  std::vector<int> groups() && { return std::move(group_); }

 private:
  void feel(int vertex) {
    const int group = group_[static_cast<std::size_t>(vertex)];
    if (group == kNoGroup) return;
    double& pull = pull_[static_cast<std::size_t>(group)];
    if (pull == 0) felt_.push_back(group);
    pull += 1.0 / static_cast<double>(size_[static_cast<std::size_t>(group)]);
  }

  bool settle(int vertex) {
    int& own = group_[static_cast<std::size_t>(vertex)];
    felt_.clear();
    feel(vertex);
    for (const int next : graph_.neighbours(vertex)) feel(next);
    double most = 0;
    for (const int group : felt_) most = std::max(most, pull_[static_cast<std::size_t>(group)]);
    best_.clear();
    for (const int group : felt_)
      if (most - pull_[static_cast<std::size_t>(group)] < kTie) best_.push_back(group);
    for (const int group : felt_) pull_[static_cast<std::size_t>(group)] = 0;
    if (best_.empty() || std::find(best_.begin(), best_.end(), own) != best_.end()) return false;
    if (own != kNoGroup) --size_[static_cast<std::size_t>(own)];
    own = best_[draws_.below(best_.size())];
    ++size_[static_cast<std::size_t>(own)];
    return true;
  }

  const UndirectedGraph& graph_;
  Draws draws_;
  std::vector<int> order_, group_;
  std::vector<int> size_;
  std::vector<double> pull_;  // of each group on one vertex
  std::vector<int> felt_, best_;
};

// Moves vertices that have no group, or are not connected with the largest part of theirs, to a neighbouring
// group, one after the other from the border on.
void mend(const UndirectedGraph& graph, int k, std::vector<int>& group) {
  std::vector<int> part(group.size(), -1), border;
  std::vector<std::vector<int>> largest(static_cast<std::size_t>(k));
  std::vector<int> members;
  for (int start = 0; start < graph.size(); ++start) {
    const int own = group[static_cast<std::size_t>(start)];
    if (own == kNoGroup || part[static_cast<std::size_t>(start)] >= 0) continue;
    members.assign(1, start);
    part[static_cast<std::size_t>(start)] = start;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (const int next : graph.neighbours(members[i]))
        if (group[static_cast<std::size_t>(next)] == own && part[static_cast<std::size_t>(next)] < 0) {
          part[static_cast<std::size_t>(next)] = start;
          members.push_back(next);
        }
    if (members.size() > largest[static_cast<std::size_t>(own)].size())
      largest[static_cast<std::size_t>(own)] = members;
  }
  std::vector<int> mended(group.size(), kNoGroup);
  for (int own = 0; own < k; ++own)
    for (const int vertex : largest[static_cast<std::size_t>(own)]) {
      mended[static_cast<std::size_t>(vertex)] = own;
      border.push_back(vertex);
    }
  for (std::size_t i = 0; i < border.size(); ++i)
    for (const int next : graph.neighbours(border[i]))
      if (mended[static_cast<std::size_t>(next)] == kNoGroup) {
        mended[static_cast<std::size_t>(next)] = mended[static_cast<std::size_t>(border[i])];
        border.push_back(next);
      }
  group = std::move(mended);
}

}  // namespace

std::vector<int> fluid_communities(const UndirectedGraph& graph, int k, std::uint64_t seed) {
  if (k < 1 || k > graph.size())
    fail(ErrorKind::config, "{} groups of {} connected ops: wants from 1 to that many", k, graph.size());
  Fluid fluid(graph, k, seed);
  for (int sweeps = 0; sweeps < kMostSweeps && fluid.sweep();) ++sweeps;
  std::vector<int> group = std::move(fluid).groups();
  mend(graph, k, group);
  return group;
}

namespace {

double weight_of(const interchange::OpNode& op) {
  constexpr double kFlopsPerByte = 100, kLaunch = 1e5;
  return std::max(static_cast<double>(op.flops) / kFlopsPerByte, static_cast<double>(op.bytes_moved)) +
         kLaunch;
}

}  // namespace

std::vector<int> topological_segments(const interchange::ExchangeGraph& graph, int k) {
  const auto ops = static_cast<int>(graph.nodes.size());
  if (k < 1 || k > ops) fail(ErrorKind::config, "{} segments of {} ops: wants from 1 to that many", k, ops);
  double total = 0;
  for (const interchange::OpNode& op : graph.nodes) total += weight_of(op);
  std::vector<int> segment(graph.nodes.size());
  double before = 0;
  int current = 0, left = ops, in_current = 0;
  for (const int index : topological_order(graph)) {
    const interchange::OpNode& op = graph.nodes[static_cast<std::size_t>(index)];
    const double weight = weight_of(op);
    // The op's middle lies behind the border, or just enough ops are left for one a segment.
    const bool beyond = (before + weight / 2) * k > (current + 1) * total;
    if (in_current > 0 && current + 1 < k && (beyond || left == k - current - 1)) {
      ++current;
      in_current = 0;
    }
    segment[static_cast<std::size_t>(index)] = current;
    before += weight;
    ++in_current;
    --left;
  }
  return segment;
}

}  // namespace trainyard::predict
