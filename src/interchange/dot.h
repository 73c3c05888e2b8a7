#pragma once

#include "interchange/interchange_graph.h"

namespace trainyard::interchange {

// For Graphviz: one node an op with all that an ExchangeGraph knows of it, one edge an input, dashed where it
// is control.
std::string to_dot(const ExchangeGraph& graph);

// Reads a digraph: of any origin its nodes and edges, of to_dot's also types, shapes and costs. A node's type
// is its attribute "op", else the first line of its label, else "op". Subgraphs are read as if they were not
// there. Error (config) begins with `who`.
ExchangeGraph read_dot(std::string_view text, const std::string& who);

}  // namespace trainyard::interchange
