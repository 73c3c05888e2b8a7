#pragma once

#include <cstdint>
#include <vector>

#include "predict/graph_features/undirected_graph.h"

namespace trainyard::predict {

// Asynchronous fluid communities (Pares et al., 2017): k groups start at one vertex each and spread; a vertex
// goes to the group with the greatest sum of densities (1 / size) among itself and its neighbours. At most
// 100 sweeps. The method may tear a group apart; here the lesser parts then go to the groups beside them.
// Returns the group, 0 to k - 1, of each vertex: every group has vertices and is connected. The same seed
// gives the same groups everywhere. REQUIRES: a connected graph. Error (config) unless 1 <= k <= its size.
std::vector<int> fluid_communities(const UndirectedGraph& graph, int k, std::uint64_t seed);

}  // namespace trainyard::predict
