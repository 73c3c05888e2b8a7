#pragma once

#include "backend/backend.h"
#include "engine/executor.h"
#include "predict/gnn/fit.h"
#include "predict/gnn/scaling.h"

namespace trainyard::predict {

// Trainer owns the compiled training step of a fit with its data, and the network that evaluates on the same
// parameters.
class Trainer {
 public:
  Trainer(std::span<const GraphSample> training, std::span<const GraphSample> validation,
          const GnnFitOptions& options, const GnnScaling& scaling);

  // Throws Error (config) naming a parameter that gets a gradient from no training graph. Changes no state.
  void check_gradients();
  // Makes one pass over the training graphs. Returns their mean loss, each taken before the step that used
  // it.
  double train_epoch(std::int64_t epoch);
  double validate();  // mean loss of the validation graphs

  std::int64_t steps_per_epoch() const { return (training_size() + options_.batch - 1) / options_.batch; }
  engine::Executor& executor() { return *executor_; }

 private:
  using Part = std::vector<const GraphSample*>;
  std::int64_t training_size() const { return static_cast<std::int64_t>(training_.size()); }
  Part training_part(std::int64_t epoch, std::int64_t step) const;
  std::unique_ptr<engine::Executor> make_evaluator() const;
  bool frozen(const std::string& name) const;

  std::span<const GraphSample> training_, validation_;
  const GnnFitOptions& options_;
  const GnnScaling& scaling_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<engine::Executor> executor_, evaluator_;  // the second is null without validation graphs
};

// Tells whether a parameter's name begins with one of these.
bool is_frozen(const std::string& name, const std::vector<std::string>& frozen);

}  // namespace trainyard::predict
