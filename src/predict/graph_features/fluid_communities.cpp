#include "predict/graph_features/fluid_communities.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::predict {
namespace {

constexpr int kMostSweeps = 100;
constexpr double kTie = 1e-4;
constexpr int kNoGroup = -1;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : philox_(seed, stream_of("fluid communities")) {}

  // 0 to end - 1. The bias of a modulo is below 2^-12 for a million vertices.
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

  // Whether any vertex changed its group.
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

// Vertices that are not connected with the largest part of their group, or have none, go to a group beside
// them, one after the other from the border on.
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

}  // namespace trainyard::predict
