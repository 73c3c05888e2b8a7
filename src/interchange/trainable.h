#pragma once

#include "graph/graph.h"

namespace trainyard::interchange {

// A TrainableNetwork is a network from an ONNX file that ModelOptions::imported takes: one input of images,
// one output of logits.
struct TrainableNetwork {
  std::string name;
  Shape input;  // of one sample
  int classes = 0;
  // The graph up to the logits, for a batch size, in training or inference: its input is called "images", its
  // only output "logits:0". Parameters start from random numbers. It keeps the file open.
  std::function<graph::Graph(std::int64_t batch, bool training)> build;
};

// Error (config) when the file is no ONNX model, (unsupported) when the network cannot be trained, with the
// reason.
TrainableNetwork read_trainable(const std::filesystem::path& file);

}  // namespace trainyard::interchange
