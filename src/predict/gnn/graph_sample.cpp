#include "predict/gnn/graph_sample.h"

namespace trainyard::predict {

void set_undirected_edges(GraphSample& sample,
                          const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
  std::set<std::pair<std::int32_t, std::int32_t>> both;
  for (const auto& [from, to] : edges) {
    if (from < 0 || to < 0 || from >= sample.nodes || to >= sample.nodes)
      fail(ErrorKind::config, "graph '{}': edge {}-{} is not between nodes 0 to {}", sample.name, from, to,
           sample.nodes - 1);
    if (from == to) continue;
    both.emplace(from, to);
    both.emplace(to, from);
  }
  sample.offsets.assign(static_cast<std::size_t>(sample.nodes) + 1, 0);
  sample.neighbours.clear();
  for (const auto& [from, to] : both) {
    sample.neighbours.push_back(to);
    ++sample.offsets[static_cast<std::size_t>(from) + 1];
  }
  for (std::size_t i = 1; i < sample.offsets.size(); ++i) sample.offsets[i] += sample.offsets[i - 1];
}

void check_sample(const GraphSample& sample, std::int64_t features, std::int64_t outputs) {
  const auto refuse = [&](const std::string& what) {
    fail(ErrorKind::config, "graph '{}': {}", sample.name, what);
  };
  const auto finite = [](float number) { return std::isfinite(number); };
  if (sample.nodes < 1) refuse("has no nodes");
  if (static_cast<std::int64_t>(sample.features.size()) != sample.nodes * features)
    refuse(fmt::format("{} features, wants {} for each of {} nodes", sample.features.size(), features,
                       sample.nodes));
  if (!std::all_of(sample.features.begin(), sample.features.end(), finite))
    refuse("has a feature that is not finite");
  const auto& offsets = sample.offsets;
  if (static_cast<std::int64_t>(offsets.size()) != sample.nodes + 1 || offsets.front() != 0 ||
      !std::is_sorted(offsets.begin(), offsets.end()) ||
      offsets.back() != static_cast<std::int64_t>(sample.neighbours.size()))
    refuse(fmt::format("{} offsets do not divide {} neighbours among {} nodes", offsets.size(),
                       sample.neighbours.size(), sample.nodes));
  for (const std::int32_t neighbour : sample.neighbours)
    if (neighbour < 0 || neighbour >= sample.nodes)
      refuse(fmt::format("neighbour {} is not one of nodes 0 to {}", neighbour, sample.nodes - 1));
  if (outputs == 0) return;
  if (static_cast<std::int64_t>(sample.labels.size()) != outputs ||
      (!sample.known.empty() && sample.known.size() != sample.labels.size()))
    refuse(fmt::format("{} labels, {} of them said to be known or not; wants {}", sample.labels.size(),
                       sample.known.size(), outputs));
  for (std::size_t i = 0; i < sample.labels.size(); ++i)
    if (sample.knows(i) && !finite(sample.labels[i])) refuse(fmt::format("label {} is not finite", i));
}

}  // namespace trainyard::predict
