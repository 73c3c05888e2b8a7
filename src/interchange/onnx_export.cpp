#include "interchange/onnx_export.h"

#include "base/file.h"
#include "interchange/interchange_graph.h"
#include "interchange/onnx_model.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

using graph::Role;
using graph::ValueId;

// The sets of operators that most readers know. Layer norms are in the newer one.
struct Versions {
  std::int64_t ir, opset;
};
constexpr Versions kUsual{7, 13}, kWithLayerNorm{8, 17};

const std::map<const graph::OpDef*, ExportRule>& export_rules() {
  static const auto rules = [] {
    std::map<const graph::OpDef*, ExportRule> all;
    for (const auto& rows :
         {image_export_rows(), matrix_export_rows(), recurrent_export_rows(), elementwise_export_rows(),
          arithmetic_export_rows(), reduction_export_rows(), cut_export_rows(), resize_export_rows(),
          shape_export_rows(), attention_export_rows(), norm_export_rows()})
      for (const ExportRow& row : rows) all[row.op] = row.rule;
    return all;
  }();
  return rules;
}

// Returns the nodes on which the value depends.
std::vector<bool> needed_nodes(const graph::Graph& graph, ValueId output) {
  std::vector<bool> needed(graph.nodes().size(), false);
  const auto need = [&](ValueId value) {
    const graph::NodeId producer = graph.value(value).producer;
    if (producer != graph::kNone) needed[static_cast<std::size_t>(producer)] = true;
  };
  need(output);
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const ValueId input : graph.nodes()[i].inputs) need(input);
  return needed;
}

}  // namespace

onnx::Attribute attribute(const char* name, std::int64_t value) {
  return {.name = name, .kind = onnx::Attribute::Kind::integer, .integer = value};
}
onnx::Attribute attribute(const char* name, double value) {
  return {.name = name, .kind = onnx::Attribute::Kind::number, .number = value};
}
onnx::Attribute attribute(const char* name, std::vector<std::int64_t> values) {
  return {.name = name, .kind = onnx::Attribute::Kind::integers, .integers = std::move(values)};
}

onnx::Attribute attribute(const char* name, const char* text) {
  return {.name = name, .kind = onnx::Attribute::Kind::text, .text = text};
}

onnx::Attribute attribute(const char* name, onnx::Tensor value) {
  return {.name = name, .kind = onnx::Attribute::Kind::tensor, .tensor = {std::move(value)}};
}

std::string ExportContext::state(ValueId id, std::vector<std::int64_t> dims, const Arrange& arrange) {
  const graph::Value& value = graph_.value(id);
  if (const auto written = written_.find(id); written != written_.end()) {
    if (written->second != dims)
      fail(ErrorKind::unsupported, "ONNX: weight '{}' would have two shapes", value.name);
    return value.name;
  }
  written_[id] = dims;
  const TensorSpec spec{true, std::move(dims), trainyard::name(value.type.dtype)};
  if (weights_ == nullptr) {
    model_.inputs.push_back({value.name, graph::name(value.role), spec});
    return value.name;
  }
  model_.initializers.push_back({.name = value.name,
                                 .doc = graph::name(value.role),
                                 .dtype = spec.dtype,
                                 .dims = spec.dims,
                                 .numbers = {},
                                 .raw = {},
                                 .content = [this, &value, arrange] {
                                   std::vector<std::byte> content = weights_(value);
                                   return arrange ? arrange(std::move(content)) : content;
                                 }});
  return value.name;
}

std::string ExportContext::input(const graph::Node& node, std::size_t i) {
  const ValueId id = node.inputs[i];
  const graph::Value& value = graph_.value(id);
  if (value.role == Role::parameter || value.role == Role::statistic)
    return state(id, {value.type.shape.begin(), value.type.shape.end()});
  if (value.role == Role::input && written_.try_emplace(id).second)
    model_.inputs.push_back({value.name, "", spec_of(value.type)});
  return value.name;
}

std::string ExportContext::constant(const graph::Node& node, const char* what,
                                    const std::vector<std::int64_t>& values) {
  const std::string name = node.name + "/" + what;
  model_.initializers.push_back(
      small_tensor(name, "i64", {static_cast<std::int64_t>(values.size())}, values));
  return name;
}

std::string ExportContext::constant(const graph::Node& node, const char* what, double value) {
  const std::string name = node.name + "/" + what;
  model_.initializers.push_back(small_tensor(name, "f32", {}, std::vector{static_cast<float>(value)}));
  return name;
}

std::string ExportContext::shared_constant(const std::string& name, std::vector<std::int64_t> dims,
                                           const std::vector<float>& values) {
  if (shared_.insert(name).second)
    model_.initializers.push_back(small_tensor(name, "f32", std::move(dims), values));
  return name;
}

std::string ExportContext::batch_input(std::int64_t batch) {
  for (const ValueId id : graph_.values_with(Role::input)) {
    const graph::Value& value = graph_.value(id);
    if (written_.contains(id) && value.type.shape.rank() > 1 && value.type.shape[0] == batch)
      return value.name;
  }
  return "";
}

void ExportContext::add(const graph::Node& node, const char* type, std::vector<std::string> inputs,
                        std::vector<onnx::Attribute> attributes) {
  const graph::Value& made = graph_.value(node.outputs[0]);
  add_part(node.name, type, std::move(inputs), made.name, std::move(attributes));
  model_.values.push_back({made.name, "", spec_of(made.type)});
}

void ExportContext::add_part(std::string name, const char* type, std::vector<std::string> inputs,
                             std::string output, std::vector<onnx::Attribute> attributes) {
  model_.nodes.push_back({.name = std::move(name),
                          .type = type,
                          .domain = {},
                          .inputs = std::move(inputs),
                          .outputs = {std::move(output)},
                          .attributes = std::move(attributes)});
}

void export_onnx(const graph::Graph& graph, ValueId output, const OnnxExportOptions& options,
                 const std::function<void(std::string_view)>& write) {
  onnx::Model model{.producer = "trainyard", .graph_name = options.name};
  ExportContext context(graph, model, options.weights);
  const std::vector<bool> needed = needed_nodes(graph, output);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const graph::Node& node = graph.nodes()[i];
    const auto rule = export_rules().find(node.op);
    if (rule == export_rules().end())
      fail(ErrorKind::unsupported, "ONNX: op {} of node '{}' has no form there", node.op->name, node.name);
    rule->second(context, node);
  }
  const bool has_layer_norm = std::any_of(model.nodes.begin(), model.nodes.end(), [](const onnx::Node& node) {
    return node.type == "LayerNormalization";
  });
  const Versions versions = has_layer_norm ? kWithLayerNorm : kUsual;
  model.ir_version = versions.ir;
  model.opset = versions.opset;
  if (!model.values.empty() && model.values.back().name == graph.value(output).name) model.values.pop_back();
  model.outputs.push_back({graph.value(output).name, "", spec_of(graph.value(output).type)});
  write_model(model, write);
}

void export_onnx(const graph::Graph& graph, ValueId output, const OnnxExportOptions& options,
                 const std::filesystem::path& path) {
  AtomicFile file(path);
  export_onnx(graph, output, options, [&](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace trainyard::interchange
