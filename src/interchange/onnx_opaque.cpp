// Nodes of ONNX that stay as they are.

#include "interchange/onnx_import.h"
#include "interchange/onnx_patterns.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {

TensorSpec OpaqueNodes::input_spec(const std::string& value) const {
  if (value.empty()) return {};
  if (const onnx::Tensor* content = context_.constant(value)) return {true, content->dims, content->dtype};
  if (const graph::ValueId id = context_.value(value); id != graph::kNone)
    return spec_of(context_.graph().value(id).type);
  if (const auto found = specs_.find(value); found != specs_.end()) return found->second;
  return context_.declared(value);
}

// Shapes of our graph go before those that are known without it.
TensorSpec OpaqueNodes::output_spec(const onnx::Node& node, std::size_t output) const {
  const TensorSpec said = context_.declared(node.outputs[output]);
  if (said.elements()) return said;
  std::vector<TensorSpec> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(input_spec(input));
  const TensorSpec followed = output_specs(context_.known(), node, std::move(inputs))[output];
  if (followed.has_shape) return followed;
  const TensorSpec& known = context_.known().spec(node.outputs[output]);
  return known.has_shape ? known : said;
}

void OpaqueNodes::add(const onnx::Node& node) {
  OpNode made{
      .name = context_.name(node),
      .type = node.domain.empty() || node.domain == kOwnDomain ? node.type : node.domain + "." + node.type};
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

}  // namespace trainyard::interchange
