#pragma once

#include "interchange/interchange_graph.h"
#include "interchange/onnx_import.h"
#include "networks/zoo/network_files.h"

namespace trainyard::interchange {

enum class Format : std::uint8_t { onnx, graph_def, dot };

const char* name(Format format);
// Returns the format by the name's end: .onnx, .pb, .pbtxt, .dot or .gv; nothing for any other.
std::optional<Format> format_of(const std::filesystem::path& path);

struct GraphFile {
  Format format = Format::onnx;
  ExchangeGraph graph;
  // Holds the network, for an ONNX file only.
  std::optional<OnnxNetwork> network;
};

// Error (config) names the file and what is wrong with it; (usage) when the name says no format.
GraphFile read_graph_file(const std::filesystem::path& path, const OnnxImportOptions& options = {});

// Returns the network of an ONNX file: one input of images and logits (N, classes), or token ids (N, steps)
// and logits (N, steps, vocabulary). One with other outputs, or without gradients, has an obstacle: its
// forward pass alone can run. It keeps the file open. Error (config) when the file is no ONNX model,
// (unsupported) when the network cannot run, with the node and the reason.
std::shared_ptr<const networks::NetworkFile> read_trainable(const std::filesystem::path& file);

// Makes names like "mine.onnx" those of networks.
void know_onnx_networks();

}  // namespace trainyard::interchange
