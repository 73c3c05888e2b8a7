#pragma once

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"
#include "predict/gnn/run_model.h"

namespace trainyard::cli {

// The options of `predict fit` and `predict eval` for graph networks.
struct GraphKindOptions {
  std::string kind = "analytic";
  int groups = predict::GraphRunFit{}.groups;
  std::int64_t epochs = predict::GraphRunFit{}.epochs, patience = predict::GraphRunFit{}.patience;

  bool is_graph() const { return kind == "gnn"; }
  bool is_kernels() const { return kind == "kernels"; }
};
void add_graph_kind_options(CLI::App& command, GraphKindOptions& options);
std::vector<Idle> idle_options(const GraphKindOptions& options);

// Fits with a progress bar of epochs. An empty `validation` means a fifth of the training rows. While a
// StopRequest lives, SIGINT ends it after an epoch, with a checkpoint where there is a folder.
predict::GraphRunResult fit_graph_kind(const predict::RunSet& set, const std::vector<std::size_t>& training,
                                       const std::vector<std::size_t>& validation,
                                       const GraphKindOptions& options, predict::GraphRunFit fit, bool quiet);

}  // namespace trainyard::cli
