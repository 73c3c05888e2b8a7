#pragma once

#include <string>
#include <string_view>

#include "exchange/exchange_graph.h"

namespace trainyard::exchange {

// A TensorFlow graph in protobuf's text form (.pbtxt), as Driple reads it. Shapes are those the file says, of
// constants and variables, or follow from them by the rules of common ops; flops follow from shapes.
// Functions of the graph's library are not looked into. A variable counts as parameters when an optimizer's
// op applies to it, or when there is no such op at all. Error (config) begins with `who`.
ExchangeGraph read_graph_def(std::string_view text, const std::string& who);

}  // namespace trainyard::exchange
