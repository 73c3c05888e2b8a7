#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/update_attrs.h"
#include "predict/gnn/architecture.h"

namespace trainyard::predict {

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
