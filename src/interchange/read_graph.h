#pragma once

#include "interchange/interchange_graph.h"
#include "interchange/onnx_import.h"

namespace trainyard::interchange {

enum class Format : std::uint8_t { onnx, graph_def, dot };

const char* name(Format format);
// Returns the format by the name's end: .onnx, .pbtxt, .dot or .gv; nothing for any other.
std::optional<Format> format_of(const std::filesystem::path& path);

struct GraphFile {
  Format format = Format::onnx;
  ExchangeGraph graph;
  // Holds the network, for an ONNX file only.
  std::optional<OnnxNetwork> network;
};

// Error (config) names the file and what is wrong with it; (usage) when the name says no format.
GraphFile read_graph_file(const std::filesystem::path& path, const OnnxImportOptions& options = {});

}  // namespace trainyard::interchange
