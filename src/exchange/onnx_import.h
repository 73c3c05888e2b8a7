#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/exchange_graph.h"
#include "exchange/onnx_model.h"
#include "graph/graph.h"

namespace trainyard::exchange {

struct OnnxImportOptions {
  std::int64_t batch = 1;  // where the file leaves the first dimension of an input open
  bool training = true;    // dropout drops, batch norm normalises by the batch
};

// Why nodes of one type could not become ops of ours.
struct Obstacle {
  std::string type, reason, first_node;
  std::int64_t nodes = 0;
};

struct OnnxNetwork {
  // All nodes but those that were folded into others. Where a node is one of ours, its type and costs are
  // those of our op; else the type is ONNX's.
  ExchangeGraph exchange;
  // The network, with its outputs marked, when there are no obstacles; else the part of it that is ours.
  graph::Graph graph;
  std::vector<Obstacle> obstacles;
};

// Error (config), beginning with `who`, when the nodes do not fit together. Contents of tensors are read only
// where a shape or factor depends on them: parameters get no values.
OnnxNetwork import_onnx(const onnx::Model& model, const OnnxImportOptions& options, const std::string& who);

// What a training step of it takes: mean softmax cross-entropy over the classes of its one output (N,
// classes), backward pass and plain SGD.
struct TrainingForm {
  std::int64_t flops = 0, saved_bytes = 0;
  std::string obstacle;  // why it cannot be trained, or empty
};
TrainingForm training_form(const OnnxNetwork& network);

}  // namespace trainyard::exchange
