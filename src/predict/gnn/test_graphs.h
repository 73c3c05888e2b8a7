#pragma once

// For tests only.

#include "base/philox.h"
#include "predict/gnn/graph_sample.h"

namespace trainyard::predict {

// Makes a connected graph with a few random edges. Its two labels follow from size and features and lie
// between about 0.1 and 10.
inline GraphSample made_up_graph(std::int64_t nodes, std::uint64_t number, std::size_t features = 3) {
  const Philox random(99, number);
  GraphSample sample{.name = "graph" + std::to_string(number), .family = "made up", .nodes = nodes};
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (std::int32_t i = 1; i < nodes; ++i) {
    edges.emplace_back(i - 1, i);
    if (i % 3 == 0)
      edges.emplace_back(i, static_cast<std::int32_t>(random.word(static_cast<std::uint64_t>(i)) %
                                                      static_cast<std::uint32_t>(i)));
  }
  set_undirected_edges(sample, edges);
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(nodes) * features; ++i) {
    sample.features.push_back(3 * to_unit_float(random.word(1000 + i)));
    sum += sample.features.back();
  }
  sample.labels = {static_cast<float>(0.05 * sum), static_cast<float>(std::exp(std::sin(sum)))};
  return sample;
}

}  // namespace trainyard::predict
