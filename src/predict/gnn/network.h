#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "graph/graph.h"
#include "ops/update.h"
#include "predict/gnn/run_labels.h"
#include "tensor/tensor.h"

namespace trainyard::predict {

// Weights as they are stored: plain order, f32.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};

// gcn: neighbours normalised by degree, one layer. gin: their sum, two layers.
enum class Convolution : std::uint8_t { gcn, gin };
const char* name(Convolution convolution);
Convolution parse_convolution(const std::string& word);

// Driple's network (Yang et al., SIGMETRICS 2022), whose defaults these are: a convolution of the features
// and a second one that is repeated, each followed by the same gated unit; Set2Set; three dense layers.
struct Architecture {
  std::int64_t features = 3;
  std::int64_t hidden = 64;
  std::int64_t outputs = 12;
  Convolution convolution = Convolution::gcn;
  Repeats convolutions{Repeats::Rule::nodes, 0.5};  // the first one counts
  Repeats readout_steps{Repeats::Rule::nodes, 1};
  bool leaky_output = true;  // a leaky ReLU behind the last layer: for outputs that are not negative

  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// Error (config) names the field.
void check_architecture(const Architecture& architecture);

// As pairs of text for files, and back; others than these are left alone.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings to_settings(const Architecture& architecture);
Architecture parse_architecture(const Settings& settings, const std::string& who);

// The value of a setting, as text or as a whole number; Error (config) begins with who when it is not there.
const std::string& setting(const Settings& settings, const std::string& name, const std::string& who);
std::int64_t whole_setting(const Settings& settings, const std::string& name, const std::string& who);

// The parameters of an executor of a graph network, trained or frozen. REQUIRES: names and shapes agree.
void write_weights(engine::Executor& executor, const std::vector<NamedTensor>& tensors);
std::vector<NamedTensor> read_weights(const engine::Executor& executor, const Architecture& architecture);

// What a batch has room for. Graphs may be unlike; what they leave free counts for nothing.
struct Capacity {
  std::int64_t graphs = 1, nodes = 1, edges = 1;
  std::int64_t convolutions = 1, readout_steps = 1;  // the most of any graph
};

// Names of the inputs of a network (i32 but for the features, f32).
struct InputNames {
  static constexpr const char *kFeatures = "features", *kSegments = "segments", *kOffsets = "offsets",
                              *kNeighbours = "neighbours", *kFirstRounds = "first_rounds",
                              *kRounds = "rounds", *kReadoutSteps = "readout_steps";
  // Of the loss: minus the target, and the root of each output's weight, (graphs, outputs) both.
  static constexpr const char *kMinusTarget = "minus_target", *kRootWeight = "root_weight";
};
// Names of its outputs.
inline constexpr const char *kPrediction = "prediction:0", *kLoss = "loss:0";

struct NetworkOptions {
  Architecture architecture;
  Capacity capacity;
  bool training = false;
  // Parameters that are not to change: state that no update touches, and that costs no gradient.
  std::function<bool(const std::string&)> frozen = nullptr;
};

// With the outputs kPrediction (graphs, outputs), as scaled, and kLoss: sum of weight * (prediction -
// target)^2.
struct GraphNetwork {
  graph::Graph graph;
  graph::ValueId loss = graph::kNone;
};
GraphNetwork build_network(const NetworkOptions& options);

// Appends backward pass and update of what is not frozen. Error (config) where nothing is left to train, or
// the loss does not depend on something that is.
void add_training_step(GraphNetwork& network, const ops::UpdateAttrs& update);

// Names of all parameters, trained or not, with their shapes, in the order of the graph.
std::vector<std::pair<std::string, Shape>> parameter_shapes(const Architecture& architecture);

}  // namespace trainyard::predict
