#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "interchange/interchange_graph.h"
#include "networks/zoo/model.h"

namespace trainyard::cli {

// A graph by the name of a network, or by a file.
struct GraphOptions {
  std::int64_t batch = 1;
  int classes = 0;
  networks::generator::Given parameters;
  std::string step = "forward";
};

// Options that say which graph a network's name means.
void add_graph_options(CLI::App& command, GraphOptions& options, bool with_step);

// Whether it is a file: there is one of that name, or the name ends as those of graphs do.
bool is_graph_file(const std::string& source);

networks::ModelOptions model_options(const std::string& network, const GraphOptions& options);

// Of a file as it is; of a network its forward pass, with loss, or its whole training step.
interchange::ExchangeGraph graph_of(const std::string& source, const GraphOptions& options);

}  // namespace trainyard::cli
