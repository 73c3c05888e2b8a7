#include "predict/gnn/network.h"

#include <charconv>

#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/registry/registry.h"
#include "ops/sequence/graph_layers.h"

namespace trainyard::predict {

namespace {

constexpr std::int64_t kMostFeatures = 4096, kMostHidden = 4096, kMostOutputs = 4096;

void check_range(const char* what, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most)
    fail(ErrorKind::config, "graph network: {} {}: wants 1 to {}", what, value, most);
}

}  // namespace

const char* name(GraphConvolution convolution) {
  return convolution == GraphConvolution::gcn ? "gcn" : "gin";
}

GraphConvolution parse_convolution(const std::string& word) {
  for (const GraphConvolution one : {GraphConvolution::gcn, GraphConvolution::gin})
    if (word == name(one)) return one;
  fail(ErrorKind::config, "convolution '{}': wants gcn or gin", word);
}

void check_architecture(const Architecture& architecture) {
  check_range("hidden", architecture.hidden, kMostHidden);
  check_range("features", architecture.features, kMostFeatures);
  check_range("outputs", architecture.outputs, kMostOutputs);
  if (architecture.features > architecture.hidden)
    fail(ErrorKind::config, "graph network: {} features: wants at most as many as hidden, {}",
         architecture.features, architecture.hidden);
}

Settings to_settings(const Architecture& architecture) {
  return {{"features", std::to_string(architecture.features)},
          {"hidden", std::to_string(architecture.hidden)},
          {"outputs", std::to_string(architecture.outputs)},
          {"convolution", name(architecture.convolution)},
          {"convolutions", architecture.convolutions.text()},
          {"readout_steps", architecture.readout_steps.text()},
          {"output_activation", architecture.leaky_output ? "leaky_relu" : "none"}};
}

Architecture parse_architecture(const Settings& settings, const std::string& who) {
  Architecture architecture;
  architecture.features = whole_setting(settings, "features", who);
  architecture.hidden = whole_setting(settings, "hidden", who);
  architecture.outputs = whole_setting(settings, "outputs", who);
  architecture.convolution = parse_convolution(setting(settings, "convolution", who));
  architecture.convolutions = parse_repeats(setting(settings, "convolutions", who));
  architecture.readout_steps = parse_repeats(setting(settings, "readout_steps", who));
  const std::string activation = setting(settings, "output_activation", who);
  if (activation != "leaky_relu" && activation != "none")
    fail(ErrorKind::config, "'{}': output_activation '{}', wants leaky_relu or none", who, activation);
  architecture.leaky_output = activation == "leaky_relu";
  check_architecture(architecture);
  return architecture;
}

const std::string& setting(const Settings& settings, const std::string& name, const std::string& who) {
  for (const auto& [key, value] : settings)
    if (key == name) return value;
  fail(ErrorKind::config, "'{}': setting '{}' is missing", who, name);
}

std::int64_t whole_setting(const Settings& settings, const std::string& name, const std::string& who) {
  const std::string text = setting(settings, name, who);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    fail(ErrorKind::config, "'{}': setting '{}' is '{}', wants a whole number", who, name, text);
  return value;
}

void write_weights(engine::Executor& executor, const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& tensor : tensors) {
    const HostTensor content(tensor.shape, DType::f32);
    std::copy(tensor.numbers.begin(), tensor.numbers.end(), content.as<float>().begin());
    executor.write(tensor.name, content);
  }
}

std::vector<NamedTensor> read_weights(const engine::Executor& executor, const Architecture& architecture) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : parameter_shapes(architecture)) {
    const HostTensor content = executor.read(name);
    const auto numbers = content.as<float>();
    tensors.push_back({name, shape, {numbers.begin(), numbers.end()}});
  }
  return tensors;
}

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
    if (architecture_.convolution == GraphConvolution::gin) {
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
    ops::GatedGraphConvAttrs attrs{.neighbours = architecture_.convolution == GraphConvolution::gcn
                                                     ? ops::Neighbours::normalised
                                                     : ops::Neighbours::summed,
                                   .layers = architecture_.convolution == GraphConvolution::gcn ? 1 : 2,
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
    // Scaled by one, each bias has a gradient of its own; the gradient of a sum is one value for all of its
    // terms.
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
