#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace trainyard::predict {

// Memory of the values that a step makes, when each is freed after its last reader and an elementwise node
// writes over an input that dies with it, as frameworks do. Gradients of parameters are counted apart, in
// `gradients`: an update at the end keeps them all.
struct LiveBytes {
  std::int64_t saved = 0;  // live when the backward pass begins
  std::int64_t peak = 0;   // the most at any time, without gradients of parameters
  std::int64_t gradients = 0;
};

LiveBytes live_bytes(const graph::Graph& graph);

}  // namespace trainyard::predict
