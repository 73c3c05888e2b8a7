#pragma once

#include "engine/executor.h"
#include "predict/gnn/model.h"

namespace trainyard::predict {

// FitState is the progress of a fit, beside the parameters and the optimizer's state.
struct FitState {
  std::int64_t epochs = 0;  // done
  std::int64_t best_epoch = -1;
  double best_loss = 0;
  std::vector<NamedTensor> best;  // parameters then
};

struct EpochReport {
  std::int64_t epoch = 0;  // from 0
  double training_loss = 0, validation_loss = 0;
  bool best = false;  // of all so far
};

struct GnnFitOptions {
  Architecture architecture;
  Loss loss = Loss::log;
  bool raw_features = false;  // as they are, as Driple takes them
  double learning_rate = 0.003;
  double weight_decay = 1e-6;
  std::int64_t batch = 32;  // graphs
  std::int64_t epochs = 1000;
  std::int64_t patience = 100;  // epochs without a better validation loss; then the fit ends
  std::uint64_t seed = 42;
  bool shuffle = true;
  // Initial weights, used where names and shapes agree; other parameters begin afresh. The fit keeps its
  // scaling of features, and that of labels where loss and number of outputs agree.
  const GnnModel* start = nullptr;
  // Prefixes of parameter names that must not change: "conv", "gru/". Each must match a parameter.
  std::vector<std::string> frozen = {};
  std::filesystem::path folder = {};  // of checkpoints; empty: none are kept
  std::int64_t save_every = 10;       // epochs
  bool resume = false;                // from the folder's last checkpoint, if it has one
  // The fit calls this after each epoch; false ends the fit (after a checkpoint, where there is a folder).
  std::function<bool(const EpochReport&)> hear = nullptr;
};

// FitFolder keeps checkpoints (docs/formats/checkpoint.md) in a folder, and the best parameters so far as a
// model file that the checkpoint names by its epoch.
class FitFolder {
 public:
  FitFolder(const GnnFitOptions& options, std::span<const GraphSample> training,
            std::span<const GraphSample> validation);

  void save(const engine::Executor& executor, const FitState& state, std::int64_t step) const;
  // Fills the executor; returns nothing when the folder has no checkpoint. Throws Error (config) when it is
  // of another fit.
  std::optional<FitState> load(engine::Executor& executor) const;

 private:
  std::filesystem::path best_path(std::int64_t epoch) const;

  const GnnFitOptions& options_;
  Settings asked_;
};

struct GnnFitResult {
  GnnModel model;  // as it was at the best epoch
  std::int64_t epochs = 0, best_epoch = 0;
  double best_loss = 0;
  bool interrupted = false;             // `hear` ended it
  std::vector<std::string> fresh = {};  // parameters that `start` did not have
};

// Trains a graph network with Adam. The loss of the validation graphs decides, or that of the training graphs
// where there are none. The same options and graphs give the same bits on the same machine with the same
// number of threads, resumed or not.
//
// Before it changes anything, it checks that every parameter that is not frozen receives a gradient from some
// training graph: Error (config) names one that gets none. It also throws Error (config) for samples that do
// not fit, a frozen name that matches nothing, a frozen parameter that `start` does not have, a checkpoint of
// another fit, a loss that is not finite, and graphs that need more memory than there is.
GnnFitResult fit(std::span<const GraphSample> training, std::span<const GraphSample> validation,
                 const GnnFitOptions& options);

}  // namespace trainyard::predict
