#pragma once

#include "graph/graph.h"

namespace trainyard::interchange {

// The content of a parameter or statistic, in plain order.
using WeightSource = std::function<std::vector<std::byte>(const graph::Value&)>;

struct OnnxExportOptions {
  std::string name;  // of the graph
  // An empty source makes a file without weights, in which parameters and statistics are inputs.
  WeightSource weights = nullptr;
};

// Writes the nodes that make `output`, in ONNX's form of inference: dropout drops nothing and batch norm
// normalises by its statistics, but both are there. Error (unsupported) when an op has no form in ONNX.
void export_onnx(const graph::Graph& graph, graph::ValueId output, const OnnxExportOptions& options,
                 const std::function<void(std::string_view)>& write);

// Writes the same into a file, which appears only when it is complete.
void export_onnx(const graph::Graph& graph, graph::ValueId output, const OnnxExportOptions& options,
                 const std::filesystem::path& file);

}  // namespace trainyard::interchange
