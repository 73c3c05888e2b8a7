#include "cli/predict_graph.h"

#include <fmt/core.h>

#include "base/progress.h"
#include "base/stop_request.h"

namespace trainyard::cli {

void add_graph_kind_options(CLI::App& command, GraphKindOptions& options) {
  command
      .add_option(
          "--kind", options.kind,
          "Kind of model: first principles with fitted constants; a graph network; or kernels, each by "
          "its like in records of `bench --ops`")
      ->check(CLI::IsMember({"analytic", "gnn", "kernels"}))
      ->capture_default_str();
  command.add_option("--groups", options.groups, "gnn: nodes that ops are joined to, at most")
      ->transform(within(record::NumberRange::whole(2, 100)))
      ->capture_default_str();
  command.add_option("--epochs", options.epochs, "gnn: passes over the runs, at most")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
  command.add_option("--patience", options.patience, "gnn: epochs that may pass without getting better")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
}

std::vector<Idle> idle_options(const GraphKindOptions& options) {
  return {{!options.is_graph(), {"--groups", "--epochs", "--patience"}, "it is for --kind gnn"}};
}

predict::GraphRunResult fit_graph_kind(const predict::RunSet& set, const std::vector<std::size_t>& training,
                                       const std::vector<std::size_t>& validation,
                                       const GraphKindOptions& options, predict::GraphRunFit fit,
                                       bool quiet) {
  ProgressBar bar("fit", options.epochs, quiet);
  fit.groups = options.groups;
  fit.epochs = options.epochs;
  fit.patience = options.patience;
  fit.hear = [&](const predict::EpochReport& report) {
    bar.update(report.epoch + 1, bar.due() ? fmt::format("loss {:.4f}", report.validation_loss) : "");
    return !StopRequest::asked();
  };
  return predict::fit_graph_runs(set, training, validation, fit);
}

}  // namespace trainyard::cli
