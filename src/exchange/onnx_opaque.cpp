#include "exchange/onnx_opaque.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "exchange/limits.h"

namespace trainyard::exchange {
namespace {

// The first output is as the first input.
constexpr std::array kSameShape{"Abs",
                                "Cast",
                                "Ceil",
                                "Clip",
                                "Dropout",
                                "Elu",
                                "Erf",
                                "Exp",
                                "Floor",
                                "Gelu",
                                "HardSigmoid",
                                "HardSwish",
                                "Identity",
                                "InstanceNormalization",
                                "LayerNormalization",
                                "LeakyRelu",
                                "Log",
                                "LogSoftmax",
                                "Neg",
                                "PRelu",
                                "Reciprocal",
                                "Relu",
                                "Selu",
                                "Sigmoid",
                                "Softmax",
                                "Softplus",
                                "Sqrt",
                                "Tanh"};
constexpr std::array kBroadcast{"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean"};

template <std::size_t N>
bool is_in(const std::array<const char*, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TensorSpec broadcast(const std::vector<TensorSpec>& inputs) {
  TensorSpec joined{true, {}, inputs.empty() ? "" : inputs[0].dtype};
  for (const TensorSpec& input : inputs) {
    if (!input.has_shape) return {};
    if (input.dims.size() > joined.dims.size())
      joined.dims.insert(joined.dims.begin(), input.dims.size() - joined.dims.size(), 1);
    const std::size_t shift = joined.dims.size() - input.dims.size();
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      std::int64_t& dim = joined.dims[i + shift];
      if (dim == 1) dim = input.dims[i];
      if (input.dims[i] == kUnknown) dim = kUnknown;
    }
  }
  return joined;
}

// (..., M, K) x (..., K, N), or one of them a single matrix.
TensorSpec product(const TensorSpec& a, const TensorSpec& b) {
  if (!a.has_shape || !b.has_shape || a.dims.size() < 2 || b.dims.size() < 2) return {};
  TensorSpec made = a.dims.size() >= b.dims.size() ? a : b;
  made.dims[made.dims.size() - 2] = a.dims[a.dims.size() - 2];
  made.dims.back() = b.dims.back();
  return made;
}

TensorSpec transposed(const TensorSpec& src, std::vector<std::int64_t> order) {
  if (!src.has_shape) return {};
  if (order.empty())
    for (std::size_t i = src.dims.size(); i > 0; --i) order.push_back(static_cast<std::int64_t>(i) - 1);
  TensorSpec made{true, {}, src.dtype};
  for (const std::int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(src.dims.size()) || order.size() != src.dims.size())
      return {};
    made.dims.push_back(src.dims[static_cast<std::size_t>(axis)]);
  }
  return made;
}

}  // namespace

TensorSpec OpaqueNodes::input_spec(const std::string& value) const {
  if (value.empty()) return {};
  if (const onnx::Tensor* content = context_.constant(value)) return {true, content->dims, content->dtype};
  if (const graph::ValueId id = context_.value(value); id != graph::kNone)
    return spec_of(context_.graph().value(id).type);
  if (const auto found = specs_.find(value); found != specs_.end()) return found->second;
  return context_.declared(value);
}

TensorSpec OpaqueNodes::output_spec(const onnx::Node& node, std::size_t output) const {
  const TensorSpec said = context_.declared(node.outputs[output]);
  if (said.elements() || output > 0 || node.inputs.empty()) return said;
  std::vector<TensorSpec> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(input_spec(input));
  TensorSpec followed;
  if (is_in(kSameShape, node.type)) followed = inputs[0];
  if (is_in(kBroadcast, node.type)) followed = broadcast(inputs);
  if (node.type == "MatMul" && inputs.size() == 2) followed = product(inputs[0], inputs[1]);
  if (node.type == "Transpose") followed = transposed(inputs[0], node.integers("perm"));
  if (node.type == "Cast") followed.dtype = onnx::type_of_number(node.integer("to", 0));
  return followed.has_shape ? followed : said;
}

void OpaqueNodes::add(const onnx::Node& node) {
  OpNode made{.name = context_.name(node),
              .type = node.domain.empty() ? node.type : node.domain + "." + node.type};
  for (const std::string& input : node.inputs) {
    const TensorSpec spec = input_spec(input);
    made.bytes_moved += spec.bytes();
    const graph::ValueId id = context_.value(input);
    if (const auto found = made_.find(input); found != made_.end()) {
      made.inputs.push_back(found->second);
    } else if (id != graph::kNone) {
      if (const std::optional<OpInput> from = converter_.producer(id)) made.inputs.push_back(*from);
    }
    const bool trained = context_.constant(input) != nullptr && id == graph::kNone &&
                         !spec.dtype.starts_with('i') && !spec.dims.empty();
    if (trained && counted_.insert(input).second) made.parameters += spec.elements().value_or(0);
  }
  for (const onnx::Attribute& attribute : node.attributes)
    made.attributes.emplace_back(attribute.name, attribute.to_string());
  const int index = static_cast<int>(out_.nodes.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorSpec spec = node.outputs[i].empty() ? TensorSpec{} : output_spec(node, i);
    made.outputs.push_back(spec);
    made.bytes_moved += spec.bytes();
    if (node.outputs[i].empty()) continue;
    const OpInput from{index, static_cast<int>(i), false};
    made_[node.outputs[i]] = from;
    specs_[node.outputs[i]] = spec;
    if (const std::optional<graph::TensorType> type = type_of(spec)) {
      const graph::ValueId value = context_.graph().add_input(node.outputs[i], *type);
      converter_.made_by(value, from);
      context_.set_value(node.outputs[i], value);
    }
  }
  if (!made.outputs.empty()) {
    const std::int64_t results = made.outputs[0].elements().value_or(0);
    const TensorSpec left = node.inputs.empty() ? TensorSpec{} : input_spec(node.inputs[0]);
    if (node.type == "MatMul" && !left.dims.empty())
      made.flops = 2 * results * std::clamp<std::int64_t>(left.dims.back(), 0, kMaxElements);
    else
      made.elementwise_flops = results;
  }
  out_.nodes.push_back(std::move(made));
}

}  // namespace trainyard::exchange
