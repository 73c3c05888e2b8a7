#include "predict/graph_features/segments.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace trainyard::predict {
namespace {

double weight_of(const exchange::OpNode& op) {
  constexpr double kFlopsPerByte = 100, kLaunch = 1e5;
  return std::max(static_cast<double>(op.flops) / kFlopsPerByte, static_cast<double>(op.bytes_moved)) +
         kLaunch;
}

}  // namespace

std::vector<int> topological_segments(const exchange::ExchangeGraph& graph, int k) {
  const auto ops = static_cast<int>(graph.nodes.size());
  if (k < 1 || k > ops) fail(ErrorKind::config, "{} segments of {} ops: wants from 1 to that many", k, ops);
  double total = 0;
  for (const exchange::OpNode& op : graph.nodes) total += weight_of(op);
  std::vector<int> segment(graph.nodes.size());
  double before = 0;
  int current = 0, left = ops, in_current = 0;
  for (const int index : topological_order(graph)) {
    const exchange::OpNode& op = graph.nodes[static_cast<std::size_t>(index)];
    const double weight = weight_of(op);
    // Its middle lies behind the border; or there are just enough ops left for one a segment.
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
