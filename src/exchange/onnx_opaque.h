#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "exchange/exchange_graph.h"
#include "exchange/from_graph.h"
#include "exchange/onnx_rules.h"

namespace trainyard::exchange {

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

}  // namespace trainyard::exchange
