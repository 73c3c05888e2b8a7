#include "ops/shape.h"
#include "ops/update.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using graph::Lowering;
using graph::Node;
using graph::ValueId;

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

// Builds the graph again. Values that live across steps keep their type; the types of values inside a step
// follow from the inputs of their ops. Names do not change.
class Lowerer {
 public:
  explicit Lowerer(const graph::Graph& old) : old_(old), home_(old.values().size(), graph::kNone) {}

  graph::Graph run() {
    for (std::size_t v = 0; v < old_.values().size(); ++v) {
      const graph::Value& value = old_.values()[v];
      if (value.role != graph::Role::intermediate)
        home_[v] = made_.add_state(value.name, value.type, value.role, value.initializer);
    }
    for (const Node& node : old_.nodes()) trains_ = trains_ || node.op == &ops::update_op;
    round_weights();
    for (const Node& node : old_.nodes()) add(node);
    for (std::size_t v = 0; v < old_.values().size(); ++v)
      if (const ValueId of = old_.values()[v].gradient_of; of != graph::kNone && home_[v] != graph::kNone)
        made_.set_gradient_of(home_[v], home(of));
    for (const ValueId output : old_.outputs()) made_.mark_output(home(output));
    return std::move(made_);
  }

 private:
  ValueId home(ValueId old) const { return home_[static_cast<std::size_t>(old)]; }

  static bool takes_rounded(const Node& node) { return node.op->lowering == Lowering::computes; }

  // Vectors among the parameters are biases, which are added in f32.
  bool is_weight(ValueId old) const {
    const graph::Value& value = old_.value(old);
    return value.role == graph::Role::parameter && value.type.shape.rank() >= 2;
  }

  // One node for all weights that are multiplied: one pass over the arena.
  void round_weights() {
    std::vector<ValueId> weights, sources;
    // An update keeps copies of all weights, so that no step begins by making them.
    for (const Node& node : old_.nodes())
      for (const ValueId input : node.inputs)
        if ((trains_ ? node.op == &ops::update_op : takes_rounded(node)) && is_weight(input) &&
            std::find(weights.begin(), weights.end(), input) == weights.end())
          weights.push_back(input);
    if (weights.empty()) return;
    std::sort(weights.begin(), weights.end());
    for (const ValueId weight : weights) sources.push_back(home(weight));
    if (trains_) made_.set_phase(graph::Phase::prepare);
    const std::vector<ValueId> rounded = ops::cast(made_, "weights/bf16", sources, DType::bf16);
    for (std::size_t i = 0; i < rounded.size(); ++i) in_bf16_[sources[i]] = rounded[i];
  }

  ValueId converted(ValueId value, DType to) {
    const graph::Value& from = made_.value(value);
    if (from.type.dtype == to || !is_float(from.type.dtype)) return value;
    auto& known = to == DType::bf16 ? in_bf16_ : in_f32_;
    const auto found = known.find(value);
    if (found != known.end()) return found->second;
    const std::string name = fmt::format("{}/{}", from.name, trainyard::name(to));
    return known[value] = ops::cast(made_, name, {value}, to).front();
  }

  std::vector<ValueId> inputs_of(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(home(input));
    const auto dtype = [&](ValueId id) { return made_.dtype(id); };
    switch (node.op->lowering) {
      case Lowering::computes:
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (const graph::Value& value = old_.value(node.inputs[i]);
              value.role == graph::Role::intermediate || value.role == graph::Role::input ||
              is_weight(node.inputs[i]))
            inputs[i] = converted(inputs[i], DType::bf16);
        break;
      case Lowering::follows:
        if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return dtype(id) == DType::f32; }))
          for (ValueId& input : inputs) input = converted(input, DType::f32);
        break;
      case Lowering::exact:
        for (ValueId& input : inputs) input = converted(input, DType::f32);
        break;
      case Lowering::mixed:
        break;
    }
    return inputs;
  }

  void add(const Node& node) {
    made_.set_phase(node.phase);
    std::vector<ValueId> inputs = inputs_of(node);
    std::any attributes = node.attributes;
    if (node.op == &ops::update_op)
      for (const ValueId input : node.inputs)
        if (is_weight(input)) {
          inputs.push_back(in_bf16_.at(home(input)));
          ++std::any_cast<ops::UpdateAttrs&>(attributes).rounded_copies;
        }
    const std::vector<ValueId> outputs = made_.add_node(*node.op, node.name, inputs, std::move(attributes));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      home_[static_cast<std::size_t>(node.outputs[o])] = outputs[o];
  }

  const graph::Graph& old_;
  graph::Graph made_;
  bool trains_ = false;
  std::vector<ValueId> home_;                    // by the old id
  std::map<ValueId, ValueId> in_bf16_, in_f32_;  // by the new id
};

}  // namespace

graph::Graph lower_to_bf16(const graph::Graph& graph) { return Lowerer(graph).run(); }

}  // namespace trainyard::plan
