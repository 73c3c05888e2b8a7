#include "interchange/graph_def.h"
#include "interchange/text_format.h"

namespace trainyard::interchange::tensorflow {
namespace {

bool is_variable(const OpNode& op) {
  return op.type == "VariableV2" || op.type == "Variable" || op.type == "VarHandleOp";
}

bool applies_update(const OpNode& op) {
  return op.type.starts_with("Apply") || op.type.starts_with("ResourceApply");
}

class Costs {
 public:
  explicit Costs(ExchangeGraph& graph) : graph_(graph) {}

  void count(OpNode& op, const Node& node) {
    for (const OpInput& input : op.inputs)
      if (!input.control) op.bytes_moved += spec(input).bytes();
    for (const TensorSpec& output : op.outputs) op.bytes_moved += output.bytes();
    const std::int64_t results = op.outputs.empty() ? 0 : op.outputs[0].elements().value_or(0);
    op.flops = flops(op, node, results);
    if (op.flops == 0 && !is_variable(op) && op.type != "Const") op.elementwise_flops = results;
  }

 private:
  TensorSpec spec(const OpInput& from) const {
    const auto& outputs = graph_.nodes[static_cast<std::size_t>(from.node)].outputs;
    const auto output = static_cast<std::size_t>(from.output);
    return output < outputs.size() ? outputs[output] : TensorSpec{};
  }
  TensorSpec input(const OpNode& op, std::size_t i) const {
    return i < op.inputs.size() && !op.inputs[i].control ? spec(op.inputs[i]) : TensorSpec{};
  }

  // Multiply-adds of one result of a convolution: all of its filter but the output channels.
  static std::int64_t taps(const TensorSpec& filter, bool depthwise) {
    const std::optional<std::int64_t> elements = filter.elements();
    if (!elements || filter.dims.size() != 4 || filter.dims[2] < 1 || filter.dims[3] < 1) return 0;
    return depthwise ? filter.dims[0] * filter.dims[1] : *elements / filter.dims[3];
  }

  std::int64_t flops(const OpNode& op, const Node& node, std::int64_t results) const {
    if (op.type == "Conv2D") return 2 * results * taps(input(op, 1), false);
    if (op.type == "DepthwiseConv2dNative") return 2 * results * taps(input(op, 1), true);
    // The gradient of the result has as many elements as the result had.
    const std::int64_t d_results = input(op, 2).elements().value_or(0);
    if (op.type == "Conv2DBackpropInput") return 2 * d_results * taps(input(op, 1), false);
    if (op.type == "Conv2DBackpropFilter" && !op.outputs.empty())
      return 2 * d_results * taps(op.outputs[0], false);
    if (op.type == "MatMul" || op.type.starts_with("BatchMatMul")) {
      const TensorSpec a = input(op, 0);
      if (!a.elements() || a.dims.size() < 2) return 0;
      const Value* transposed = node.find(op.type == "MatMul" ? "transpose_a" : "adj_x");
      const bool turned = transposed != nullptr && transposed->truth;
      return 2 * results * a.dims[a.dims.size() - (turned ? 2 : 1)];
    }
    return 0;
  }

  ExchangeGraph& graph_;
};

}  // namespace

void count_costs(const std::vector<Node>& nodes, ExchangeGraph& graph) {
  Costs costs(graph);
  bool updates = false;
  std::vector<bool> trained(nodes.size(), false);
  double total = 0;
  for (const Node& node : nodes) {
    OpNode& op = *node.op;
    costs.count(op, node);
    total += static_cast<double>(op.flops);
    if (total > static_cast<double>(kMaxFlops)) op.flops = 0;  // sums stay 64-bit numbers
    if (!applies_update(op) || op.inputs.empty()) continue;
    updates = true;
    trained[static_cast<std::size_t>(op.inputs[0].node)] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    OpNode& op = *nodes[i].op;
    if (is_variable(op) && (trained[i] || !updates) && !op.outputs.empty() &&
        !op.outputs[0].dtype.starts_with('i'))
      op.parameters = op.outputs[0].elements().value_or(0);
  }
}

}  // namespace trainyard::interchange::tensorflow
