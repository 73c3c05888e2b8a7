#pragma once

#include "cli/command.h"
#include "cli/option_checks.h"
#include "cli/page_files.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/time_model.h"
#include "predict/gnn/run_model.h"
#include "predict/runs/model_container.h"

namespace trainyard {
class Json;
}

// Declares the subcommands of `trainyard predict`.
namespace trainyard::cli {

std::function<int()> declare_predict_adapt(Command& command);
std::function<int()> declare_predict_fit(Command& command);
std::function<int()> declare_predict_eval(Command& command);
std::function<int()> declare_predict_run(Command& command);

using predict::NamedScores;
using predict::scores_by;

Json json_of_score(const predict::Score& score);
void print_scores(const std::string& what, const NamedScores& scores);

// Errors of shares of time, in points; nothing where there are none.
Json json_of_use_scores(const std::vector<predict::UseScore>& scores);
void print_use_scores(const std::vector<predict::UseScore>& scores);

// Reads tables and records of all files. DEVICE=RUNS says whose records they are, else `device` does.
predict::RunTable joined_runs(const std::vector<std::string>& runs, const std::string& device);

// Reads a model of any kind; without a file all that the program carries are one.
std::unique_ptr<predict::Predictor> read_model(const std::filesystem::path& file);

// Devices that a model has seen, then those of a file, then those that are known.
std::vector<predict::DeviceSheet> devices_to_choose_from(const std::vector<predict::DeviceSheet>& seen,
                                                         const std::filesystem::path& file);

// Finds one of these; `cpu` and `here` are this machine, as a probe measures it, where none is called so.
predict::DeviceSheet device_named(const std::string& name, const std::vector<predict::DeviceSheet>& devices,
                                  bool quiet);

std::function<int()> declare_predict(Command& command);

// The parts of `predict eval` that its page shows: what was judged, and how.
struct EvalPageInput {
  const predict::RunSet& set;
  std::vector<predict::Judged> judged;
  predict::NamedScores held_out;
  std::filesystem::path runs, model;
  std::string split, source, target;  // one of model, split and target is given
  int seeds = 1;
};

WrittenFiles write_eval_page(const PageFiles& files, EvalPageInput input, bool quiet);

// Declares `trainyard predict import`, which makes a model file of weights that others published.
std::function<int()> declare_predict_import(Command& command);

// The part of the options of `predict run` that an imported model uses.
struct ImportedRun {
  std::filesystem::path model, ops;
  std::string network;  // of ours, or the file of a graph
  std::int64_t batch = 1;
  int classes = 0;
  networks::generator::Given parameters;
  bool json = false;
};

// Predicts by an imported model and prints the result. REQUIRES: a container of kGraphModelSchema.
int run_imported(const predict::ModelContainer& container, const ImportedRun& run);

// The options of `predict fit` and `predict eval` for graph networks.
struct GraphKindOptions {
  std::string kind = "analytic";
  std::string convolution = predict::name(predict::GraphRunFit{}.convolution);
  int groups = predict::GraphRunFit{}.groups;
  std::int64_t epochs = predict::GraphRunFit{}.epochs, patience = predict::GraphRunFit{}.patience;

  bool is_graph() const { return kind == "gnn"; }
  bool is_kernels() const { return kind == "kernels"; }
};
void add_graph_kind_options(Command& command, GraphKindOptions& options);
std::vector<Idle> idle_options(const GraphKindOptions& options);

// Fits with a progress bar of epochs. An empty `validation` means a fifth of the training rows. While a
// StopRequest lives, SIGINT ends it after an epoch, with a checkpoint where there is a folder.
predict::GraphRunResult fit_graph_kind(const predict::RunSet& set, const std::vector<std::size_t>& training,
                                       const std::vector<std::size_t>& validation,
                                       const GraphKindOptions& options, predict::GraphRunFit fit, bool quiet);

}  // namespace trainyard::cli
