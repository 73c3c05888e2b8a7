#include "exchange/onnx_import.h"

#include <algorithm>

#include "exchange/from_graph.h"
#include "exchange/limits.h"
#include "exchange/onnx_opaque.h"
#include "exchange/onnx_rules.h"
#include "graph/analysis.h"
#include "ops/gradients.h"
#include "ops/softmax_cross_entropy.h"
#include "ops/update.h"

namespace trainyard::exchange {
namespace {

using graph::ValueId;

const std::unordered_map<std::string, ImportRule>& import_rules() {
  static const auto rules = [] {
    std::unordered_map<std::string, ImportRule> all;
    for (const auto& rows : {image_import_rows(), matrix_import_rows(), recurrent_import_rows(),
                             elementwise_import_rows(), shape_import_rows()})
      for (const ImportRow& row : rows) all[row.type] = row.rule;
    return all;
  }();
  return rules;
}

class OnnxImport {
 public:
  OnnxImport(const onnx::Model& model, const OnnxImportOptions& options, const std::string& who)
      : model_(model),
        who_(who),
        context_(model, out_.graph, options.batch, options.training),
        converter_(out_.graph, out_.exchange),
        opaque_(context_, converter_, out_.exchange) {}

  OnnxNetwork run() && {
    out_.exchange.name = model_.graph_name;
    for (const onnx::Node& node : model_.nodes) {
      check(node);
      if (node.type == "Constant" && node.domain.empty()) {
        add_constant(node);
      } else if (!context_.is_folded(node)) {
        add(node);
      }
      for (const std::string& output : node.outputs) made_.insert(output);
    }
    for (const onnx::ValueInfo& output : model_.outputs)
      if (const ValueId value = context_.value(output.name); value != graph::kNone)
        out_.graph.mark_output(value);
    return std::move(out_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::config, "{}: {}", who_, fmt::format(format, std::forward<Args>(args)...));
  }

  void check(const onnx::Node& node) {
    for (const std::string& input : node.inputs)
      if (!input.empty() && !made_.contains(input) && !context_.is_input(input) &&
          context_.constant(input) == nullptr)
        refuse("node '{}' reads '{}', which nothing before it makes", context_.name(node), input);
    for (const std::string& output : node.outputs)
      if (!output.empty() && (made_.contains(output) || context_.is_input(output)))
        refuse("node '{}' makes '{}', which there is already", context_.name(node), output);
  }

  void add_constant(const onnx::Node& node) {
    const onnx::Attribute* value = node.find("value");
    if (!node.outputs.empty() && value != nullptr && !value->tensor.empty())
      context_.add_constant(node.outputs[0], &value->tensor[0]);
    else
      meet_obstacle(node, "its value is no tensor");
  }

  void meet_obstacle(const onnx::Node& node, const std::string& reason) {
    const auto same = std::find_if(out_.obstacles.begin(), out_.obstacles.end(), [&](const Obstacle& known) {
      return known.type == node.type && known.reason == reason;
    });
    if (same != out_.obstacles.end()) {
      ++same->nodes;
    } else if (out_.obstacles.size() < kMostObstacles) {
      out_.obstacles.push_back({node.type, reason, context_.name(node), 1});
    }
    opaque_.add(node);
  }

  void add(const onnx::Node& node) {
    const std::size_t before = out_.exchange.nodes.size();
    const std::string problem = try_rule(node);
    if (!problem.empty()) meet_obstacle(node, problem);
    for (std::size_t i = before; i < out_.exchange.nodes.size(); ++i)
      total_flops_ += static_cast<double>(out_.exchange.nodes[i].flops) +
                      static_cast<double>(out_.exchange.nodes[i].elementwise_flops);
    if (total_flops_ > static_cast<double>(kMaxFlops)) refuse("more than {} flops", kMaxFlops);
  }

  // What keeps the node from being one of ours, or "".
  std::string try_rule(const onnx::Node& node) {
    const auto rule = import_rules().find(node.type);
    if (rule == import_rules().end() || !(node.domain.empty() || node.domain == "ai.onnx"))
      return "there is no such op here";
    if (node.outputs.empty() || node.outputs[0].empty()) return "it makes nothing";
    const std::size_t before = out_.graph.nodes().size();
    try {
      const ValueId value = rule->second(context_, node);
      const std::size_t after = out_.graph.nodes().size();
      for (std::size_t i = before; i < after; ++i)
        for (const ValueId output : out_.graph.nodes()[i].outputs)
          if (!spec_of(out_.graph.value(output).type).elements())
            ImportContext::decline("a result has more than {} elements", kMaxElements);
      for (std::size_t i = before; i < after; ++i) converter_.append(static_cast<graph::NodeId>(i));
      context_.set_value(node.outputs[0], value);
      return "";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::shape) throw;
      return error.what();
    }
  }

  static constexpr std::size_t kMostObstacles = 100;

  const onnx::Model& model_;
  const std::string& who_;
  OnnxNetwork out_;
  ImportContext context_;
  NodeConverter converter_;
  OpaqueNodes opaque_;
  std::unordered_set<std::string> made_;
  double total_flops_ = 0;
};

}  // namespace

OnnxNetwork import_onnx(const onnx::Model& model, const OnnxImportOptions& options, const std::string& who) {
  return OnnxImport(model, options, who).run();
}

TrainingForm training_form(const OnnxNetwork& network) {
  if (!network.obstacles.empty()) return {.obstacle = "it has ops that are not ours"};
  graph::Graph graph = network.graph;
  if (graph.outputs().size() != 1)
    return {.obstacle = fmt::format("it has {} outputs, wants one", graph.outputs().size())};
  const ValueId logits = graph.outputs().front();
  const Shape& shape = graph.shape(logits);
  if (shape.rank() != 2 || graph.dtype(logits) != DType::f32)
    return {.obstacle = fmt::format("its output is {}, wants f32 (N, classes)",
                                    graph.value(logits).type.to_string())};
  const std::vector<ValueId> parameters = graph.values_with(graph::Role::parameter);
  if (parameters.empty()) return {.obstacle = "it has no parameters"};
  const ValueId labels = graph.add_input("labels", {{shape[0]}, DType::i32},
                                         graph::Initializer::integers(0, static_cast<double>(shape[1])));
  const auto made = ops::softmax_cross_entropy(graph, "loss", logits, labels);
  try {
    ops::update(graph, "update", parameters, ops::gradients_of(graph, made.loss, parameters), {});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return {.obstacle = error.what()};
  }
  return {.flops = graph::total_cost(graph).flops,
          .saved_bytes = graph::total_bytes_saved(graph),
          .obstacle = ""};
}

}  // namespace trainyard::exchange
