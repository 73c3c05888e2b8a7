#pragma once

#include "networks/zoo/network_files.h"

namespace trainyard::interchange {

// Returns the network of an ONNX file: one input of images and logits (N, classes), or token ids (N, steps)
// and logits (N, steps, vocabulary). It keeps the file open. Error (config) when the file is no ONNX model,
// (unsupported) when the network cannot be trained, with the reason.
std::shared_ptr<const networks::NetworkFile> read_trainable(const std::filesystem::path& file);

// Makes names like "mine.onnx" those of networks.
void know_onnx_networks();

}  // namespace trainyard::interchange
