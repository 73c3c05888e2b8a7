#include "interchange/onnx_head.h"

#include "networks/zoo/fine_tuning.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

// A matrix lies by outputs in a Gemm that transposes it, else by inputs.
bool by_outputs(const onnx::Model& model, const std::string& weight) {
  for (const onnx::Node& node : model.nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), weight) != node.inputs.end())
      return node.type == "Conv" || (node.type == "Gemm" && node.integer("transB", 0) != 0);
  return false;
}

std::size_t axis_of_classes(const onnx::Model& model, const std::string& weight, const Dims& dims,
                            std::int64_t classes, const std::string& who) {
  const std::size_t axis = dims.size() != 2 || by_outputs(model, weight) ? 0 : 1;
  if (axis >= dims.size() || dims[axis] != classes)
    fail(ErrorKind::unsupported,
         "{}: cannot have another number of classes: '{}' of its last layer has no side of {}", who, weight,
         classes);
  return axis;
}

void want_one_reader(const onnx::Model& model, const std::string& weight, const std::string& who) {
  std::ptrdiff_t readers = 0;
  for (const onnx::Node& node : model.nodes)
    readers += std::count(node.inputs.begin(), node.inputs.end(), weight);
  if (readers > 1)
    fail(ErrorKind::unsupported,
         "{}: cannot have another number of classes: '{}' of its last layer is a weight of "
         "other layers, too",
         who, weight);
}

// Weights without content are inputs that say what they are.
onnx::ValueInfo& as_input(onnx::Model& model, const std::string& weight, const std::string& who) {
  const auto named = [&](const auto& one) { return one.name == weight; };
  auto input = std::find_if(model.inputs.begin(), model.inputs.end(), named);
  const auto tensor = std::find_if(model.initializers.begin(), model.initializers.end(), named);
  if (tensor != model.initializers.end()) {
    if (input == model.inputs.end()) {
      model.inputs.push_back({weight, "", {true, tensor->dims, tensor->dtype}});
      input = std::prev(model.inputs.end());
    }
    model.initializers.erase(tensor);
  }
  if (input == model.inputs.end())
    fail(ErrorKind::unsupported,
         "{}: cannot have another number of classes: '{}' of its last layer is made by a node", who, weight);
  input->doc = graph::name(graph::Role::parameter);
  return *input;
}

// Behind the layer a reshape may count the classes, too.
void resize_reshapes(onnx::Model& model, std::set<std::string> behind, std::int64_t former,
                     std::int64_t classes) {
  for (const onnx::Node& node : model.nodes) {
    const auto is_behind = [&](const std::string& value) { return behind.contains(value); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_behind)) continue;
    behind.insert(node.outputs.begin(), node.outputs.end());
    if (node.type != "Reshape" || node.inputs.size() != 2) continue;
    for (onnx::Tensor& shape : model.initializers) {
      if (shape.name != node.inputs[1] || std::count(shape.numbers.begin(), shape.numbers.end(), former) != 1)
        continue;
      std::replace(shape.numbers.begin(), shape.numbers.end(), static_cast<double>(former),
                   static_cast<double>(classes));
      shape.raw = shape.message = {};  // the numbers count
    }
  }
}

}  // namespace

void resize_head(onnx::Model& model, const graph::Graph& graph, std::int64_t classes,
                 const std::string& who) {
  const graph::ValueId output = graph.outputs().front();
  const std::int64_t former = graph.shape(output)[1];
  std::set<std::string> head;
  for (const graph::ValueId parameter : networks::head_of(graph, output)) {
    want_one_reader(model, graph.value(parameter).name, who);
    head.insert(graph.value(parameter).name);
    onnx::ValueInfo& weight = as_input(model, graph.value(parameter).name, who);
    weight.spec.dims[axis_of_classes(model, weight.name, weight.spec.dims, former, who)] = classes;
  }
  resize_reshapes(model, std::move(head), former, classes);
  // The file's shapes of values behind the layer are no longer true.
  std::erase_if(model.values, [&](const onnx::ValueInfo& value) {
    return std::find(value.spec.dims.begin(), value.spec.dims.end(), former) != value.spec.dims.end();
  });
  for (onnx::ValueInfo& value : model.outputs) value.spec = {false, {}, value.spec.dtype};
}

}  // namespace trainyard::interchange
