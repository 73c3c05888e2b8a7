#include "networks/model.h"

#include <map>

#include "ops/add.h"
#include "ops/gradients.h"
#include "ops/l2_penalty.h"
#include "ops/softmax_cross_entropy.h"

namespace trainyard::networks {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

void check(const ModelOptions& options) {
  if (options.batch < 1) fail(ErrorKind::usage, "batch {}: must be at least 1", options.batch);
  if (options.classes < 0)
    fail(ErrorKind::usage, "classes {}: must be at least 1, or 0 for the network's own", options.classes);
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1))
    fail(ErrorKind::usage, "label smoothing {}: must be at least 0 and below 1", options.label_smoothing);
  if (!(options.weight_decay >= 0))
    fail(ErrorKind::usage, "weight decay {}: must be at least 0", options.weight_decay);
}

Shape batch_of(std::int64_t batch, const Shape& one) {
  Shape shape{batch};
  for (const std::int64_t dim : one) shape.append(dim);
  return shape;
}

// The network's own penalties and the weight decay, one node for each coefficient.
std::vector<ValueId> add_penalties(Graph& graph, const std::vector<Penalty>& own, double weight_decay) {
  std::map<double, std::vector<ValueId>> by_coefficient;
  for (const Penalty& penalty : own) by_coefficient[penalty.coefficient].push_back(penalty.weight);
  std::vector<ValueId> terms;
  for (const auto& [coefficient, weights] : by_coefficient)
    terms.push_back(ops::l2_penalty(graph, "penalty", weights, coefficient));
  if (weight_decay > 0) {
    std::vector<ValueId> weights;
    for (const ValueId parameter : graph.values_with(graph::Role::parameter))
      if (graph.shape(parameter).rank() >= 2) weights.push_back(parameter);
    terms.push_back(ops::l2_penalty(graph, "weight_decay", weights, weight_decay));
  }
  return terms;
}

}  // namespace

Model build_model(const ModelOptions& options) {
  check(options);
  const NetworkInfo info = find_network(options.network, options.parameters);
  const int classes = options.classes == 0 ? info.classes : options.classes;
  const Shape& input = options.input.rank() == 0 ? info.input : options.input;
  Model model;
  model.training = options.training;
  Graph& graph = model.graph;
  model.images =
      graph.add_input("images", {batch_of(options.batch, input), options.dtype}, Initializer::normal(1));
  model.labels = graph.add_input("labels", {{options.batch}, DType::i32}, Initializer::integers(0, classes));
  Builder builder(graph, options.training, options.dtype);
  model.logits = info.generator != nullptr ? info.generator->build(builder, model.images, classes,
                                                                   parameters_of(info, options.parameters))
                                           : info.build(builder, model.images, classes);

  const bool penalised = options.training && (!builder.penalties().empty() || options.weight_decay > 0);
  const auto made = ops::softmax_cross_entropy(graph, penalised ? "cross_entropy" : "loss", model.logits,
                                               model.labels, {options.label_smoothing});
  model.probabilities = made.probabilities;
  model.loss = made.loss;
  if (penalised) {
    std::vector<ValueId> terms = add_penalties(graph, builder.penalties(), options.weight_decay);
    terms.insert(terms.begin(), made.loss);
    model.loss = ops::add(graph, "loss", terms);
  }
  graph.mark_output(model.loss);
  graph.mark_output(model.logits);
  return model;
}

void add_training_step(Model& model, const ops::UpdateAttrs& update) {
  TRAINYARD_CHECK(model.training && model.gradients.empty());
  const std::vector<ValueId> parameters = model.graph.values_with(graph::Role::parameter);
  model.gradients = ops::gradients_of(model.graph, model.loss, parameters);
  model.shadow_weights = ops::update(model.graph, "update", parameters, model.gradients, update);
}

}  // namespace trainyard::networks
