#pragma once

#include "cli/command.h"
#include "interchange/interchange_graph.h"
#include "interchange/onnx_export.h"
#include "interchange/read_graph.h"
#include "networks/zoo/zoo.h"

namespace trainyard::cli {

struct ExportedWeights {
  interchange::WeightSource source;  // null: none
  networks::ModelOptions model;      // the one to export
};

// Returns the weights of an exported network. `weights` is "none", "initial" (the weights with which a
// training of this seed begins), a checkpoint, or a folder of checkpoints, whose last one is taken. A
// checkpoint also says classes, input and parameters of its network. Error (config) names what is missing or
// damaged there.
ExportedWeights exported_weights(const std::string& weights, std::uint64_t seed,
                                 networks::ModelOptions model);

// The options that select a graph by the name of a network, or by a file.
struct GraphOptions {
  std::int64_t batch = 1;
  int classes = 0;
  networks::generator::Given parameters;
  std::string step = "forward";
};

// Adds the options that say which graph a network's name means.
void add_graph_options(Command& command, GraphOptions& options, bool with_step);

// Returns whether `source` is a file: a file of that name exists, or the name ends as those of graph files
// do.
bool is_graph_file(const std::string& source);

networks::ModelOptions model_options(const std::string& network, const GraphOptions& options);

// Returns the graph of a file as it is; for a network it returns the forward pass, with loss, or the whole
// training step.
interchange::ExchangeGraph graph_of(const std::string& source, const GraphOptions& options);

}  // namespace trainyard::cli
