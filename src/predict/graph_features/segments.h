#pragma once

#include <vector>

#include "exchange/exchange_graph.h"

namespace trainyard::predict {

// k stretches of the topological order, about equal in time: an op counts by the seconds that a device with
// 100 flops a byte would take, and all ops a little. Edges lead from a stretch to itself or to later ones,
// unless the graph has circles. Error (config) unless 1 <= k <= number of ops.
std::vector<int> topological_segments(const exchange::ExchangeGraph& graph, int k);

}  // namespace trainyard::predict
