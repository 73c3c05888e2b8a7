#pragma once

#include "engine/executor.h"
#include "graph/graph.h"
#include "ops/update.h"
#include "predict/gnn/repeats.h"
#include "tensor/tensor.h"

namespace trainyard::predict {

// NamedTensor holds weights in their stored form: plain order, f32.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};

// gcn normalises neighbours by degree, with one layer. gin sums them, with two layers.
enum class GraphConvolution : std::uint8_t { gcn, gin };
const char* name(GraphConvolution convolution);
GraphConvolution parse_convolution(const std::string& word);

// Architecture describes Driple's network (Yang et al., SIGMETRICS 2022), and its defaults are Driple's: a
// convolution of the features and a second one that is repeated, each followed by the same gated unit;
// Set2Set; three dense layers.
struct Architecture {
  std::int64_t features = 3;
  std::int64_t hidden = 64;
  std::int64_t outputs = 12;
  GraphConvolution convolution = GraphConvolution::gcn;
  Repeats convolutions{Repeats::Rule::nodes, 0.5};  // the first one counts
  Repeats readout_steps{Repeats::Rule::nodes, 1};
  bool leaky_output = true;  // a leaky ReLU behind the last layer: for outputs that are not negative

  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// Throws Error (config) naming the field.
void check_architecture(const Architecture& architecture);

// Both convert an architecture to pairs of text for files, and back. Other settings stay as they are.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings to_settings(const Architecture& architecture);
Architecture parse_architecture(const Settings& settings, const std::string& who);

// Returns the value of a setting, as text or as a whole number. Throws Error (config), beginning with `who`,
// when it is absent.
const std::string& setting(const Settings& settings, const std::string& name, const std::string& who);
std::int64_t whole_setting(const Settings& settings, const std::string& name, const std::string& who);

// Both access the parameters of an executor of a graph network, trained or frozen. REQUIRES: names and shapes
// agree.
void write_weights(engine::Executor& executor, const std::vector<NamedTensor>& tensors);
std::vector<NamedTensor> read_weights(const engine::Executor& executor, const Architecture& architecture);

// Capacity is the room of a batch. Graphs may differ in size; the unused rest has no effect.
struct Capacity {
  std::int64_t graphs = 1, nodes = 1, edges = 1;
  std::int64_t convolutions = 1, readout_steps = 1;  // the most of any graph
};

// InputNames holds the names of a network's inputs (all i32 except the features, which are f32).
struct InputNames {
  static constexpr const char *kFeatures = "features", *kSegments = "segments", *kOffsets = "offsets",
                              *kNeighbours = "neighbours", *kFirstRounds = "first_rounds",
                              *kRounds = "rounds", *kReadoutSteps = "readout_steps";
  // Inputs of the loss: minus the target, and the root of each output's weight, both (graphs, outputs).
  static constexpr const char *kMinusTarget = "minus_target", *kRootWeight = "root_weight";
};
// Names of its outputs.
inline constexpr const char *kPrediction = "prediction:0", *kLoss = "loss:0";

struct NetworkOptions {
  Architecture architecture;
  Capacity capacity;
  bool training = false;
  // Selects parameters that must not change: they become state that no update touches, and cost no gradient.
  std::function<bool(const std::string&)> frozen = nullptr;
};

// GraphNetwork has the outputs kPrediction (graphs, outputs), as scaled, and kLoss: sum of weight *
// (prediction - target)^2.
struct GraphNetwork {
  graph::Graph graph;
  graph::ValueId loss = graph::kNone;
};
GraphNetwork build_network(const NetworkOptions& options);

// Appends the backward pass, and the update of the parameters that are not frozen. Throws Error (config)
// where nothing is left to train, or where the loss does not depend on such a parameter.
void add_training_step(GraphNetwork& network, const ops::UpdateAttrs& update);

// Returns the names of all parameters, trained or not, with their shapes, in the order of the graph.
std::vector<std::pair<std::string, Shape>> parameter_shapes(const Architecture& architecture);

}  // namespace trainyard::predict
