#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "engine/executor.h"
#include "predict/gnn/fit.h"

namespace trainyard::predict {

// How far a fit is, beside the parameters and the optimizer's state.
struct FitState {
  std::int64_t epochs = 0;  // done
  std::int64_t best_epoch = -1;
  double best_loss = 0;
  std::vector<NamedTensor> best;  // parameters then
};

// In a folder: checkpoints as docs/formats/checkpoint.md has them, and the best parameters so far as a model
// file that the checkpoint names by its epoch.
class FitFolder {
 public:
  FitFolder(const GnnFitOptions& options, std::span<const GraphSample> training,
            std::span<const GraphSample> validation);

  void save(const engine::Executor& executor, const FitState& state, std::int64_t step) const;
  // Fills the executor; nothing when the folder has no checkpoint. Error (config) when it is of another fit.
  std::optional<FitState> load(engine::Executor& executor) const;

 private:
  std::filesystem::path best_path(std::int64_t epoch) const;

  const GnnFitOptions& options_;
  Settings asked_;
};

}  // namespace trainyard::predict
