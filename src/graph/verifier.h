#pragma once

#include "graph/graph.h"

namespace trainyard::graph {

// Throws an internal Error when the graph breaks one of its own rules: a value read before it is made, two
// producers, types that the op would not infer, a change of something that is not state, or a change before
// another reader. Passes run it in debug builds; tests always do.
void verify(const Graph& graph);

}  // namespace trainyard::graph
