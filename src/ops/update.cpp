#include "ops/update.h"

namespace trainyard::ops {

std::string to_string(const Schedule& schedule) {
  std::string text;
  switch (schedule.kind) {
    case Schedule::Kind::constant:
      text = fmt::format("constant {}", schedule.rate);
      break;
    case Schedule::Kind::step_decay:
      text = fmt::format("{} x {} every {} steps", schedule.rate, schedule.factor, schedule.decay_steps);
      break;
    case Schedule::Kind::exponential_decay:
      text = fmt::format("{} x {} per {} steps", schedule.rate, schedule.factor, schedule.decay_steps);
      break;
    case Schedule::Kind::cosine:
      text = fmt::format("cosine {} to {} in {} steps", schedule.rate, schedule.final_rate,
                         schedule.decay_steps);
      break;
  }
  return schedule.warmup_steps > 0 ? fmt::format("{}, warm-up {} steps", text, schedule.warmup_steps) : text;
}

namespace {

using graph::Case;
using graph::Cost;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::Role;
using graph::TensorType;
using graph::ValueId;

std::vector<TensorType> infer(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  const int per_parameter = 2 + attrs.slots(), tensors = node.inputs() - attrs.rounded_copies;
  if (tensors <= 0 || tensors % per_parameter != 0)
    node.refuse("got {} inputs, wants a multiple of {}", tensors, per_parameter);
  const int count = updated_parameters(node);
  int copy = tensors;
  for (int i = 0; i < count && copy < node.inputs(); ++i)
    if (node.input_shape(i).rank() >= 2 && !(node.input_shape(copy++) == node.input_shape(i)))
      node.refuse("copy '{}' is {}, its parameter is {}", node.input(copy - 1).name,
                  node.input_shape(copy - 1).to_string(), node.input_shape(i).to_string());
  for (int i = count; i < tensors; ++i) {
    const TensorType &type = node.input(i).type, &parameter = node.input(i % count).type;
    const bool gradient = i / count == 1;
    const bool rounded = gradient && type.shape == parameter.shape && sum_type(type.dtype) == parameter.dtype;
    if (!(type == parameter) && !rounded)
      node.refuse("input {} '{}' is {}, its parameter is {}", i, node.input(i).name, type.to_string(),
                  parameter.to_string());
  }
  return {};
}

// Parameters and slots are read and written, gradients read; twice where their norm comes first.
Cost cost(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  const int count = updated_parameters(node);
  std::int64_t elements = 0, bytes = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    if (i < count) elements += node.input_shape(i).elements();
    const bool gradient = i / count == 1, copy = i >= node.inputs() - attrs.rounded_copies;
    bytes += node.input(i).type.bytes() * (copy || (gradient && attrs.clip_norm == 0) ? 1 : 2);
  }
  return {.elementwise_flops = elements * flops_per_parameter(attrs), .bytes_moved = bytes};
}

std::vector<int> mutates(const NodeView& node) {
  const int count = updated_parameters(node);
  std::vector<int> changed;
  for (int i = 0; i < node.inputs(); ++i)
    if (i / count != 1) changed.push_back(i);
  return changed;
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  return fmt::format("{}, {} parameters{}{}", name(attrs.rule), updated_parameters(node),
                     attrs.clip_norm > 0 ? ", clipped" : "", attrs.ema_decay > 0 ? ", shadow weights" : "");
}

std::vector<Case> cases() {
  const auto problem = [](UpdateAttrs attrs) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> parameters, gradients;
      for (const Shape& shape : {Shape{40, 7}, Shape{5}, Shape{8, 3, 3, 3}}) {
        parameters.push_back(graph.add_parameter("p", {shape, dtype}, Initializer::normal(1)));
        gradients.push_back(graph.add_input("g", {shape, dtype}, Initializer::normal(1)));
      }
      update(graph, "update", parameters, gradients, attrs);
    };
  };
  const Schedule rate{.rate = 0.1};
  return {{"sgd", problem({.rule = Rule::sgd, .schedule = rate})},
          {"sgd_decay_ema",
           problem({.rule = Rule::sgd, .schedule = rate, .weight_decay = 0.01, .ema_decay = 0.9999})},
          {"momentum", problem({.rule = Rule::momentum, .schedule = rate})},
          {"nesterov",
           problem({.rule = Rule::momentum, .schedule = rate, .nesterov = true, .weight_decay = 1e-3})},
          {"rmsprop", problem({.rule = Rule::rmsprop, .schedule = rate, .epsilon = 1})},
          {"adam", problem({.rule = Rule::adam, .schedule = rate})},
          {"adamw_ema", problem({.rule = Rule::adam,
                                 .schedule = rate,
                                 .weight_decay = 0.1,
                                 .decoupled_decay = true,
                                 .ema_decay = 0.99})},
          {"adamw_of_matrices", problem({.rule = Rule::adam,
                                         .schedule = rate,
                                         .weight_decay = 0.1,
                                         .decoupled_decay = true,
                                         .decay_matrices_only = true})},
          {"sgd_decay_of_matrices",
           problem({.rule = Rule::sgd, .schedule = rate, .weight_decay = 0.1, .decay_matrices_only = true})},
          {"sgd_clipped", problem({.rule = Rule::sgd, .schedule = rate, .clip_norm = 1})},
          {"momentum_clipped_ema",
           problem({.rule = Rule::momentum, .schedule = rate, .clip_norm = 0.5, .ema_decay = 0.9})},
          {"sgd_below_the_clip", problem({.rule = Rule::sgd, .schedule = rate, .clip_norm = 1e6})}};
}

}  // namespace

const char* name(Rule rule) {
  switch (rule) {
    case Rule::sgd:
      return "sgd";
    case Rule::momentum:
      return "momentum";
    case Rule::rmsprop:
      return "rmsprop";
    case Rule::adam:
      return "adam";
  }
  return "?";
}

int updated_parameters(const NodeView& node) {
  const auto& attrs = node.attrs<UpdateAttrs>();
  return (node.inputs() - attrs.rounded_copies) / (2 + attrs.slots());
}

std::int64_t flops_per_parameter(const UpdateAttrs& attrs) {
  const int by_rule[] = {2, 4, 8, 12};
  return by_rule[static_cast<int>(attrs.rule)] + (attrs.ema_decay > 0 ? 3 : 0) +
         (attrs.clip_norm > 0 ? 3 : 0);
}

bool decays(const UpdateAttrs& attrs, const Shape& shape) {
  return attrs.weight_decay != 0 && (!attrs.decay_matrices_only || shape.rank() >= 2);
}

int UpdateAttrs::slots() const { return static_cast<int>(slot_names(*this).size()); }

std::vector<std::string> slot_names(const UpdateAttrs& attrs) {
  std::vector<std::string> names;
  switch (attrs.rule) {
    case Rule::sgd:
      break;
    case Rule::momentum:
      names = {"momentum"};
      break;
    case Rule::rmsprop:
      names = {"rmsprop_square", "rmsprop_momentum"};
      break;
    case Rule::adam:
      names = {"adam_m", "adam_v"};
      break;
  }
  if (attrs.ema_decay > 0) names.push_back("ema");
  return names;
}

const graph::OpDef update_op{.name = "update",
                             .infer = infer,
                             .cost = cost,
                             .cases = cases,
                             .mutates = mutates,
                             .describe = describe,
                             .lowering = graph::Lowering::mixed,
                             .category = graph::Category::optimizer,
                             .any_layout = true};

std::vector<ValueId> add_slots(Graph& graph, const std::vector<ValueId>& parameters,
                               const UpdateAttrs& attrs) {
  std::vector<ValueId> slots;
  for (const std::string& slot : slot_names(attrs))
    for (const ValueId parameter : parameters) {
      const graph::Value& value = graph.value(parameter);
      // The shadow starts as the weights themselves: same name stream, same initializer.
      const Initializer first = slot == "ema"              ? value.initializer
                                : slot == "rmsprop_square" ? Initializer::constant(1)
                                                           : Initializer::constant(0);
      slots.push_back(graph.add_state(value.name + ":" + slot, value.type, Role::optimizer_state, first));
    }
  return slots;
}

std::vector<ValueId> update(Graph& graph, const std::string& name, const std::vector<ValueId>& parameters,
                            const std::vector<ValueId>& gradients, const UpdateAttrs& attrs) {
  TRAINYARD_CHECK(parameters.size() == gradients.size());
  const std::vector<ValueId> slots = add_slots(graph, parameters, attrs);
  std::vector<ValueId> inputs = parameters;
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  inputs.insert(inputs.end(), slots.begin(), slots.end());
  graph.set_phase(graph::Phase::update);
  graph.add_node(update_op, name, std::move(inputs), attrs);
  graph.set_phase(graph::Phase::forward);
  if (attrs.ema_decay <= 0) return {};
  return {slots.end() - static_cast<std::ptrdiff_t>(parameters.size()), slots.end()};  // the last slot
}

namespace {

std::vector<TensorType> infer_accumulate(const NodeView& node) {
  const int count = node.inputs() / 3;
  if (count == 0 || node.inputs() % 3 != 0)
    node.refuse("got {} inputs, wants three for each parameter", node.inputs());
  if (const int batches = node.attrs<AccumulateAttrs>().micro_batches; batches < 1)
    node.refuse("{} micro-batches, wants at least 1", batches);
  for (int i = 0; i < count; ++i) {
    const TensorType &parameter = node.input(i).type, &gradient = node.input(count + i).type,
                     &sum = node.input(2 * count + i).type;
    if (!(sum == parameter) || !(gradient.shape == sum.shape) || sum_type(gradient.dtype) != sum.dtype)
      node.refuse("gradient '{}' is {} and its sum {}, their parameter is {}", node.input(count + i).name,
                  gradient.to_string(), sum.to_string(), parameter.to_string());
  }
  return {};
}

Cost cost_of_accumulate(const NodeView& node) {
  const int count = node.inputs() / 3;
  Cost cost;
  for (int i = count; i < 2 * count; ++i) {
    cost.elementwise_flops += 2 * node.input_shape(i).elements();
    cost.bytes_moved += node.input(i).type.bytes() + 2 * node.input(count + i).type.bytes();
  }
  return cost;
}

std::vector<int> sums_of(const NodeView& node) {
  std::vector<int> sums(static_cast<std::size_t>(node.inputs() / 3));
  std::iota(sums.begin(), sums.end(), node.inputs() / 3 * 2);
  return sums;
}

std::string describe_accumulate(const NodeView& node) {
  return fmt::format("{} micro-batches, {} parameters", node.attrs<AccumulateAttrs>().micro_batches,
                     node.inputs() / 3);
}

// Conformance runs the steps 3 and 4: the first and second micro-batch of three, the last of two and the
// first of the next two.
std::vector<Case> cases_of_accumulate() {
  const auto problem = [](int micro_batches) {
    return [=](Graph& graph, DType dtype) {
      std::vector<ValueId> parameters, gradients;
      for (const Shape& shape : {Shape{40, 7}, Shape{5}, Shape{8, 3, 3, 3}, Shape{300, 70}}) {
        parameters.push_back(graph.add_parameter("p", {shape, dtype}, Initializer::normal(1)));
        gradients.push_back(graph.add_input("g", {shape, dtype}, Initializer::normal(1)));
      }
      accumulate(graph, "accumulate", parameters, gradients, {micro_batches});
    };
  };
  return {{"of_two", problem(2)}, {"of_three", problem(3)}};
}

}  // namespace

const graph::OpDef accumulate_op{.name = "accumulate",
                                 .infer = infer_accumulate,
                                 .cost = cost_of_accumulate,
                                 .cases = cases_of_accumulate,
                                 .mutates = sums_of,
                                 .describe = describe_accumulate,
                                 .lowering = graph::Lowering::mixed,
                                 .category = graph::Category::optimizer,
                                 .any_layout = true};

std::vector<ValueId> accumulate(Graph& graph, const std::string& name, const std::vector<ValueId>& parameters,
                                const std::vector<ValueId>& gradients, const AccumulateAttrs& attrs) {
  std::vector<ValueId> inputs = parameters, sums;
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  for (const ValueId parameter : parameters) {
    const graph::Value& value = graph.value(parameter);
    sums.push_back(
        graph.add_state(value.name + ":sum", value.type, Role::gradient_sum, Initializer::constant(0)));
    graph.set_gradient_of(sums.back(), parameter);
  }
  inputs.insert(inputs.end(), sums.begin(), sums.end());
  graph.set_phase(graph::Phase::backward);
  graph.add_node(accumulate_op, name, std::move(inputs), attrs);
  graph.set_phase(graph::Phase::forward);
  return sums;
}

std::vector<const graph::OpDef*> update_ops() { return {&update_op, &accumulate_op}; }

}  // namespace trainyard::ops
