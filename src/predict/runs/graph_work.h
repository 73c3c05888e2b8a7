#pragma once

#include "interchange/interchange_graph.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {

// Whether the name ends as those of files do whose graphs can be predicted: ONNX and TensorFlow's GraphDef.
bool names_graph_file(std::string_view name);

// Whether no training of ours can be made of such a file: a GraphDef, or ONNX with an obstacle. Throws Error
// (config) where an ONNX file cannot be read.
bool is_foreign_graph(const std::string& network);

// Returns the work of such a graph, as it is: a training step where it has one, else its forward pass. Throws
// Error (unsupported) naming ops whose work is not known, where they are products or more than a tenth.
NetworkWork work_of_file(const std::string& network, std::int64_t batch);

// The same of a graph that was read. `who` begins messages.
NetworkWork work_of(const interchange::ExchangeGraph& graph, std::int64_t batch, const std::string& who);

// Of the ops of a graph this share at most may have unknown work.
inline constexpr double kMostUnknown = 0.1;

}  // namespace trainyard::predict
