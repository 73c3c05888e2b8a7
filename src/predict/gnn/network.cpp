#include "predict/gnn/network.h"

#include <cmath>

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/dense.h"
#include "ops/gated_graph_conv.h"
#include "ops/gradients.h"
#include "ops/l2_penalty.h"
#include "ops/multiply.h"
#include "ops/scale.h"
#include "ops/set2set.h"
#include "ops/update.h"

namespace trainyard::predict {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

constexpr double kSlope = 0.01;  // of all leaky ReLUs

class Builder {
 public:
  Builder(Graph& graph, const NetworkOptions& options)
      : graph_(graph), options_(options), architecture_(options.architecture) {}

  ValueId floats(const char* name, const Shape& shape) {
    return graph_.add_input(name, {shape, DType::f32}, Initializer::normal(1));
  }
  ValueId integers(const char* name, std::int64_t count) {
    return graph_.add_input(name, {{count}, DType::i32}, Initializer::constant(0));
  }
  ValueId parameter(const std::string& name, const Shape& shape, const Initializer& initializer) {
    const graph::TensorType type{shape, DType::f32};
    if (options_.frozen && options_.frozen(name))
      return graph_.add_state(name, type, graph::Role::statistic, initializer);
    return graph_.add_parameter(name, type, initializer);
  }
  // Weights of gated units and convolutions start within one over the root of the width.
  ValueId uniform(const std::string& name, const Shape& shape) {
    const double limit = 1 / std::sqrt(static_cast<double>(architecture_.hidden));
    return parameter(name, shape, Initializer::uniform(-limit, limit));
  }

  std::vector<ValueId> convolution_layers(const std::string& name, std::int64_t inputs) {
    const std::int64_t hidden = architecture_.hidden;
    std::vector<ValueId> layers{uniform(name + "/weight", {hidden, inputs}),
                                uniform(name + "/bias", {hidden})};
    if (architecture_.convolution == Convolution::gin) {
      layers.push_back(uniform(name + "/second_weight", {hidden, hidden}));
      layers.push_back(uniform(name + "/second_bias", {hidden}));
    }
    return layers;
  }

  ValueId nodes() {
    const std::int64_t hidden = architecture_.hidden;
    const Capacity& capacity = options_.capacity;
    const ValueId features = floats(InputNames::kFeatures, {capacity.nodes, architecture_.features});
    segments_ = integers(InputNames::kSegments, capacity.graphs + 1);
    ops::GraphBatch batch{segments_, integers(InputNames::kFirstRounds, capacity.graphs),
                          integers(InputNames::kOffsets, capacity.nodes + 1),
                          integers(InputNames::kNeighbours, capacity.edges)};
    const std::vector<ValueId> first = convolution_layers("conv0", architecture_.features);
    const std::vector<ValueId> second = convolution_layers("conv1", hidden);
    ops::GatedGraphConvWeights weights{
        uniform("gru/weight", {3 * hidden, hidden}), uniform("gru/recurrent_weight", {3 * hidden, hidden}),
        uniform("gru/bias", {3 * hidden}), uniform("gru/recurrent_bias", {3 * hidden}), first};
    ops::GatedGraphConvAttrs attrs{.neighbours = architecture_.convolution == Convolution::gcn
                                                     ? ops::Neighbours::normalised
                                                     : ops::Neighbours::summed,
                                   .layers = architecture_.convolution == Convolution::gcn ? 1 : 2,
                                   .slope = kSlope,
                                   .training = options_.training};
    const ValueId once = ops::gated_graph_conv(graph_, "conv0", features, batch, weights, attrs);
    batch.rounds = integers(InputNames::kRounds, capacity.graphs);
    weights.layers = second;
    attrs.rounds = std::max<std::int64_t>(1, capacity.convolutions - 1);
    return ops::gated_graph_conv(graph_, "conv1", once, batch, weights, attrs);
  }

  ValueId read_out(ValueId nodes) {
    const std::int64_t hidden = architecture_.hidden;
    const ValueId steps = integers(InputNames::kReadoutSteps, options_.capacity.graphs);
    const ValueId weight = uniform("set2set/weight", {4 * hidden, 2 * hidden}),
                  recurrent = uniform("set2set/recurrent_weight", {4 * hidden, hidden}),
                  bias = uniform("set2set/bias", {4 * hidden}),
                  recurrent_bias = uniform("set2set/recurrent_bias", {4 * hidden});
    // Scaled by one, each has a gradient of its own; that of a sum is one value for all of its terms.
    const ValueId biases = ops::add(graph_, "set2set/biases",
                                    {ops::scale(graph_, "set2set/first_bias", bias, 1),
                                     ops::scale(graph_, "set2set/second_bias", recurrent_bias, 1)});
    return ops::set2set(graph_, "set2set", {nodes, segments_, steps, weight, recurrent, biases},
                        {.steps = options_.capacity.readout_steps, .training = options_.training});
  }

  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs) {
    const std::int64_t inputs = graph_.shape(x)[1];
    const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));  // Glorot and Bengio, 2010
    const ValueId weight =
        parameter(name + "/weight", {outputs, inputs}, Initializer::uniform(-limit, limit));
    const ValueId bias = parameter(name + "/bias", {outputs}, Initializer::constant(0));
    return ops::dense(graph_, name, x, weight, bias);
  }

  ValueId outputs(ValueId x) {
    for (const char* layer : {"mlp0", "mlp1"})
      x = ops::relu(graph_, std::string(layer) + "/relu", dense(layer, x, architecture_.hidden));
    x = dense("mlp2", x, architecture_.outputs);
    if (architecture_.leaky_output)
      x = ops::activation(graph_, "mlp2/leaky_relu", x,
                          {.kind = ops::Activation::leaky_relu, .slope = kSlope});
    return ops::scale(graph_, "prediction", x, 1);  // of this name with or without an activation
  }

 private:
  Graph& graph_;
  const NetworkOptions& options_;
  const Architecture& architecture_;
  ValueId segments_ = graph::kNone;
};

}  // namespace

GraphNetwork build_network(const NetworkOptions& options) {
  check_architecture(options.architecture);
  GraphNetwork network;
  Graph& graph = network.graph;
  Builder builder(graph, options);
  const ValueId prediction = builder.outputs(builder.read_out(builder.nodes()));
  const Shape shape = graph.shape(prediction);
  const ValueId minus_target = builder.floats(InputNames::kMinusTarget, shape),
                root_weight = builder.floats(InputNames::kRootWeight, shape);
  const ValueId error =
      ops::multiply(graph, "error", ops::add(graph, "difference", {prediction, minus_target}), root_weight);
  network.loss = ops::l2_penalty(graph, "loss", {error}, 2);
  TRAINYARD_CHECK(graph.value(prediction).name == kPrediction && graph.value(network.loss).name == kLoss);
  graph.mark_output(prediction);
  graph.mark_output(network.loss);
  return network;
}

void add_training_step(GraphNetwork& network, const ops::UpdateAttrs& update) {
  const std::vector<ValueId> parameters = network.graph.values_with(graph::Role::parameter);
  if (parameters.empty()) fail(ErrorKind::config, "graph network: all of its parameters are frozen");
  ops::update(network.graph, "update", parameters, ops::gradients_of(network.graph, network.loss, parameters),
              update);
}

std::vector<std::pair<std::string, Shape>> parameter_shapes(const Architecture& architecture) {
  const GraphNetwork network = build_network({.architecture = architecture, .capacity = {}});
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const ValueId value : network.graph.values_with(graph::Role::parameter))
    shapes.emplace_back(network.graph.value(value).name, network.graph.shape(value));
  return shapes;
}

}  // namespace trainyard::predict
