#pragma once

#include <unordered_map>
#include <unordered_set>

#include "graph/graph.h"
#include "interchange/interchange_graph.h"
#include "interchange/onnx_model.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {

struct OnnxImportOptions {
  std::int64_t batch = 1;          // where the file leaves the first dimension of an input open
  bool training = true;            // dropout drops, batch norm normalises by the batch
  FileWeights* weights = nullptr;  // none: parameters start from random numbers
};

// Says why nodes of one type could not become ops of ours.
struct Obstacle {
  std::string type, reason, first_node;
  std::int64_t nodes = 0;
};

// Says what nodes of one type became.
struct Coverage {
  std::string type;     // as the file has it
  std::string becomes;  // our ops, what was recognised, or why there is no op
  std::int64_t nodes = 0;
  bool ours = true;
};

struct OnnxNetwork {
  // All nodes but those that were folded into others. Where a node is one of ours, its type and costs are
  // those of our op; else the type is ONNX's.
  ExchangeGraph exchange;
  // The network, with its outputs marked, when there are no obstacles; else the part of it that is ours.
  graph::Graph graph;
  std::vector<Obstacle> obstacles;
  std::vector<Coverage> coverage;  // of all nodes of the file, by type
  // Numbers of parameters that the file holds, and that it leaves to its caller.
  std::int64_t numbers_in_file = 0, numbers_left_out = 0;
  // Counts what was recognised in several nodes ("attention").
  std::map<std::string, std::int64_t> recognised;
  // The input of sequences, i32 (steps + 1, N), where the file reads token ids (N, steps); else kNone. The
  // output then has the logits of all steps as rows, step by step.
  graph::ValueId tokens = graph::kNone;
  // Steps see those behind them, so that the network is asked for masked tokens: the input of sequences is
  // (2 steps, N), and its second half the labels.
  bool masked = false;

  std::int64_t steps() const { return masked ? graph.shape(tokens)[0] / 2 : graph.shape(tokens)[0] - 1; }
};

// Error (config), beginning with `who`, when the nodes do not fit together. Contents of tensors are read only
// where a shape or factor depends on them, and those of parameters where `weights` is given.
OnnxNetwork import_onnx(const onnx::Model& model, const OnnxImportOptions& options, const std::string& who);

// Tells whether any step's attention sees the steps behind it.
bool sees_steps_behind(const graph::Graph& graph);

// Describes a training step of the network: mean softmax cross-entropy over the classes of its one output (N,
// classes), backward pass and plain SGD.
struct TrainingForm {
  std::int64_t flops = 0, saved_bytes = 0;
  std::string obstacle;  // why it cannot be trained, or empty
};
TrainingForm training_form(const OnnxNetwork& network);

// Nodes of ONNX that no op of ours can stand for. They enter the exchange graph as they are, with shapes
// where the file says them or they follow by simple rules; what they make enters our graph as an input, so
// that ops after them can be ours again.
class OpaqueNodes {
 public:
  OpaqueNodes(ImportContext& context, NodeConverter& converter, ExchangeGraph& out)
      : context_(context), converter_(converter), out_(out) {}

  void add(const onnx::Node& node);

 private:
  TensorSpec input_spec(const std::string& value) const;
  TensorSpec output_spec(const onnx::Node& node, std::size_t output) const;

  ImportContext& context_;
  NodeConverter& converter_;
  ExchangeGraph& out_;
  std::unordered_map<std::string, OpInput> made_;      // values that no op of ours knows
  std::unordered_map<std::string, TensorSpec> specs_;  // of those
  std::unordered_set<std::string> counted_;            // parameters
};

}  // namespace trainyard::interchange
