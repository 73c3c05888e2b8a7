#include "interchange/onnx_import.h"

#include "base/text.h"
#include "graph/autodiff.h"
#include "interchange/onnx_patterns.h"
#include "interchange/text_format.h"
#include "ops/loss.h"
#include "ops/registry/registry.h"
#include "ops/sequence/attention.h"
#include "ops/shape.h"
#include "ops/update.h"

namespace trainyard::interchange {

namespace {

using graph::ValueId;

const std::unordered_map<std::string, ImportRule>& import_rules() {
  static const auto rules = [] {
    std::unordered_map<std::string, ImportRule> all;
    for (const auto& rows :
         {image_import_rows(), matrix_import_rows(), recurrent_import_rows(), elementwise_import_rows(),
          arithmetic_import_rows(), reduction_import_rows(), shape_import_rows(), cut_import_rows(),
          resize_import_rows(), attention_import_rows(), norm_import_rows()})
      for (const ImportRow& row : rows) all[row.type] = row.rule;
    return all;
  }();
  return rules;
}

// Sequences are the input of a network that reads one matrix of whole numbers, a batch of so many steps. Our
// own files have theirs step by step, as our networks do.
std::string input_of_tokens(const onnx::Model& model) {
  std::unordered_set<std::string> weights;
  for (const onnx::Tensor& tensor : model.initializers) weights.insert(tensor.name);
  const onnx::ValueInfo* only = nullptr;
  for (const onnx::ValueInfo& input : model.inputs) {
    if (weights.contains(input.name) || !input.doc.empty()) continue;
    if (only != nullptr) return "";
    only = &input;
  }
  const bool is_whole = only != nullptr && (only->spec.dtype == "i64" || only->spec.dtype == "i32");
  return is_whole && only->spec.dims.size() == 2 && only->spec.dims[1] > 0 && model.producer != kProducer
             ? only->name
             : "";
}

ImportContext::Options context_options(const onnx::Model& model, const OnnxImportOptions& options,
                                       bool masked) {
  return {options.batch, options.training, options.weights, input_of_tokens(model), masked};
}

class OnnxImport {
 public:
  OnnxImport(const onnx::Model& model, const OnnxImportOptions& options, bool masked, const std::string& who)
      : file_(model),
        model_(checked(model, who)),
        who_(who),
        known_(model_, options.batch),
        recognised_(fuse_patterns(model_, known_)),
        context_(model_, known_, out_.graph, context_options(model_, options, masked)),
        converter_(out_.graph, out_.exchange),
        opaque_(context_, converter_, out_.exchange) {}

  OnnxNetwork run() && {
    out_.exchange.name = model_.graph_name;
    for (const onnx::Node& node : model_.nodes)
      if (!take_constants(node) && !context_.is_folded(node)) add(node);
    out_.recognised = recognised_.counts;
    cover();
    for (const onnx::ValueInfo& output : model_.outputs)
      if (const ValueId value = output_of(output.name); value != graph::kNone) out_.graph.mark_output(value);
    out_.tokens = context_.tokens();
    for (const graph::Value& value : out_.graph.values())
      if (value.role == graph::Role::parameter)
        (context_.constant(value.name) != nullptr ? out_.numbers_in_file : out_.numbers_left_out) +=
            value.type.shape.elements();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::config, "{}: {}", who_, fmt::format(format, std::forward<Args>(args)...));
  }

  // Returns a copy whose nodes may be replaced, when they fit together.
  static onnx::Model checked(const onnx::Model& model, const std::string& who) {
    std::unordered_set<std::string> made, given;
    for (const onnx::ValueInfo& input : model.inputs) given.insert(input.name);
    for (const onnx::Tensor& tensor : model.initializers) given.insert(tensor.name);
    for (const onnx::Node& node : model.nodes) {
      for (const std::string& input : node.inputs)
        if (!input.empty() && !made.contains(input) && !given.contains(input))
          fail(ErrorKind::config, "{}: node '{}' reads '{}', which nothing before it makes", who,
               ImportContext::name(node), input);
      for (const std::string& output : node.outputs)
        if (!output.empty() && (given.contains(output) || !made.insert(output).second))
          fail(ErrorKind::config, "{}: node '{}' makes '{}', which there is already", who,
               ImportContext::name(node), output);
    }
    onnx::Model copy = model;
    take_weights_by_other_names(copy);
    return copy;
  }

  // PyTorch writes weights with the same numbers once, and an Identity for each other name. Matrices are so
  // shared indeed; vectors only began alike, and are trained each for itself.
  static void take_weights_by_other_names(onnx::Model& model) {
    std::unordered_map<std::string, std::size_t> weights;
    for (std::size_t i = 0; i < model.initializers.size(); ++i) weights[model.initializers[i].name] = i;
    std::unordered_set<std::string> outputs;
    for (const onnx::ValueInfo& output : model.outputs) outputs.insert(output.name);
    std::unordered_map<std::string, std::string> shared;
    std::vector<onnx::Node> nodes;
    std::size_t copied = 0;
    for (onnx::Node& node : model.nodes) {
      for (std::string& input : node.inputs)
        if (const auto known = shared.find(input); known != shared.end()) input = known->second;
      const bool is_name = node.type == "Identity" && node.domain.empty() && node.inputs.size() == 1 &&
                           node.outputs.size() == 1 && !outputs.contains(node.outputs[0]) &&
                           weights.contains(node.inputs[0]) && copied < kMostCopied;
      if (!is_name) {
        nodes.push_back(std::move(node));
        continue;
      }
      onnx::Tensor weight = model.initializers[weights.at(node.inputs[0])];
      if (weight.dims.size() != 1) {
        shared[node.outputs[0]] = weight.name;
        continue;
      }
      copied += weight.numbers.size() + 1;
      weight.name = node.outputs[0];
      weights[weight.name] = model.initializers.size();
      model.initializers.push_back(std::move(weight));
    }
    model.nodes = std::move(nodes);
  }

  // Values that are the same for all samples are no ops. Returns whether the node makes such ones alone.
  bool take_constants(const onnx::Node& node) {
    const bool all = known_.makes_constants(node);
    if (all)
      for (const std::string& output : node.outputs) context_.add_constant(output, known_.constant(output));
    return all;
  }

  // Says of each node of the file what became of it.
  void cover() {
    std::unordered_set<std::string> folded_outputs;
    for (const onnx::Node& node : model_.nodes)
      if (context_.is_folded(node) && !node.outputs.empty()) folded_outputs.insert(node.outputs[0]);
    std::map<std::pair<std::string, std::string>, Coverage> rows;
    for (const onnx::Node& node : file_.nodes) {
      const std::string first = node.outputs.empty() ? "" : node.outputs[0];
      const auto pattern = recognised_.by_output.find(first);
      const auto made = became_.find(first);
      Coverage found{.type = node.type, .becomes = "part of what was recognised"};
      if (node.type == "Identity") found.becomes = "no op";
      if (made != became_.end()) found.becomes = made->second;
      if (made != became_.end() && obstacles_.contains(first)) found.ours = false;
      if (found.ours && pattern != recognised_.by_output.end()) found.becomes = pattern->second;
      if (folded_outputs.contains(first)) found.becomes = "part of the op before it";
      if (known_.makes_constants(node)) found.becomes = "the same for all samples";
      ++rows.try_emplace({found.type, found.becomes}, found).first->second.nodes;
    }
    for (const auto& [key, row] : rows) out_.coverage.push_back(row);
  }

  // The ops that a rule added, each once.
  std::string ops_since(std::size_t before) const {
    std::string made;
    std::vector<std::string> types;
    for (std::size_t i = before; i < out_.exchange.nodes.size(); ++i) {
      const std::string& type = out_.exchange.nodes[i].type;
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
    return types.empty() ? "no op" : joined(types, ", ");
  }

  // A value that cannot be moved into the file's shape is no output.
  ValueId output_of(const std::string& name) {
    const std::size_t before = out_.graph.nodes().size();
    const ValueId value = context_.output(name);
    for (std::size_t i = before; i < out_.graph.nodes().size(); ++i)
      converter_.append(static_cast<graph::NodeId>(i));
    return value;
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
    const std::string first = node.outputs.empty() ? "" : node.outputs[0];
    became_[first] = problem.empty() ? ops_since(before) : "not ours: " + problem;
    if (!problem.empty()) obstacles_.insert(first);
    if (!problem.empty()) meet_obstacle(node, problem);
    for (std::size_t i = before; i < out_.exchange.nodes.size(); ++i)
      total_flops_ += static_cast<double>(out_.exchange.nodes[i].flops) +
                      static_cast<double>(out_.exchange.nodes[i].elementwise_flops);
    if (total_flops_ > static_cast<double>(kMaxFlops)) refuse("more than {} flops", kMaxFlops);
  }

  // Returns the reason why the node cannot be one of our ops, or "".
  std::string try_rule(const onnx::Node& node) {
    const auto rule = import_rules().find(node.type);
    const bool known_domain = node.domain.empty() || node.domain == "ai.onnx" || node.domain == kOwnDomain;
    if (rule == import_rules().end() || !known_domain) return "there is no such op here";
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
      context_.set_made(node, value);
      return "";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::shape) throw;
      return error.what();
    }
  }

  static constexpr std::size_t kMostObstacles = 100;
  static constexpr std::size_t kMostCopied = std::size_t{1} << 22;  // numbers; a small file may ask for many

  const onnx::Model& file_;
  onnx::Model model_;  // with fused nodes
  const std::string& who_;
  KnownValues known_;
  Recognised recognised_;
  OnnxNetwork out_;
  ImportContext context_;
  NodeConverter converter_;
  OpaqueNodes opaque_;
  std::unordered_map<std::string, std::string> became_;  // by the first value of each node that was imported
  std::unordered_set<std::string> obstacles_;            // the first values of those that are not ours
  double total_flops_ = 0;
};

}  // namespace

OnnxNetwork import_onnx(const onnx::Model& model, const OnnxImportOptions& options, const std::string& who) {
  OnnxNetwork network = OnnxImport(model, options, false, who).run();
  if (network.tokens == graph::kNone || !sees_steps_behind(network.graph)) return network;
  network = OnnxImport(model, options, true, who).run();
  network.masked = true;
  return network;
}

bool sees_steps_behind(const graph::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const graph::Node& node) {
    return node.op == &ops::attention_op && !graph::NodeView(graph, node).attrs<ops::AttentionAttrs>().causal;
  });
}

TrainingForm training_form(const OnnxNetwork& network) {
  if (!network.obstacles.empty()) return {.obstacle = "it has ops that are not ours"};
  graph::Graph graph = network.graph;
  if (graph.outputs().size() != 1)
    return {.obstacle = fmt::format("it has {} outputs, wants one", graph.outputs().size())};
  const ValueId logits = graph.outputs().front();
  const Shape shape = graph.shape(logits);  // a copy: nodes are added
  if (shape.rank() != 2 || graph.dtype(logits) != DType::f32)
    return {.obstacle = fmt::format("its output is {}, wants f32 (N, classes)",
                                    graph.value(logits).type.to_string())};
  const std::vector<ValueId> parameters = graph.values_with(graph::Role::parameter);
  if (parameters.empty()) return {.obstacle = "it has no parameters"};
  ValueId loss = graph::kNone;
  if (network.tokens != graph::kNone) {
    const Shape tokens = graph.shape(network.tokens);
    const Shape asked{network.steps(), tokens[1]};
    const ValueId labels =
        ops::slice(graph, "labels_of_steps", network.tokens, {tokens[0] - network.steps(), 0}, asked);
    const ValueId lengths = graph.add_input("lengths", {{tokens[1]}, DType::i32});
    if (shape[0] != asked.elements())
      return {.obstacle = fmt::format("its output is {}, wants logits of each step, {} rows",
                                      graph.value(logits).type.to_string(), asked.elements())};
    loss = ops::sequence_cross_entropy(graph, "loss", logits, labels, lengths);
  } else {
    const ValueId labels = graph.add_input("labels", {{shape[0]}, DType::i32},
                                           graph::Initializer::integers(0, static_cast<double>(shape[1])));
    loss = ops::softmax_cross_entropy(graph, "loss", logits, labels).loss;
  }
  try {
    ops::update(graph, "update", parameters, ops::gradients_of(graph, loss, parameters), {});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return {.obstacle = error.what()};
  }
  return {.flops = graph::total_cost(graph).flops,
          .saved_bytes = graph::total_bytes_saved(graph),
          .obstacle = ""};
}

}  // namespace trainyard::interchange
