#pragma once

#include <string>

#include "graph/graph.h"

namespace trainyard::graph {

// One line a node: "conv1 = conv2d(image, conv1/weight, conv1/bias) {5x5 ...} -> f32 50x32x28x28".
std::string to_text(const Graph& graph);
std::string to_text(const Graph& graph, NodeId node);

}  // namespace trainyard::graph
