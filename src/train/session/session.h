#pragma once

#include "backend/backend.h"
#include "base/device_spec.h"
#include "engine/executor.h"
#include "networks/zoo/zoo.h"
#include "ops/update.h"

namespace trainyard::train {

struct SessionOptions {
  networks::ModelOptions model;
  ops::UpdateAttrs update;
  std::string backend = "auto";
  DeviceSpec device;
  backend::Precision precision = backend::Precision::f32;
  backend::Effort tuning = backend::Effort::full;
  int threads = 0;         // 0: every core this process may use
  std::vector<int> cores;  // one per thread; empty: the first that this process may use
  std::uint64_t seed = 1;
  bool fuse = true;
  bool optimizer_state = true;  // false: it is kept elsewhere, and never becomes memory here
  int sessions = 1;             // of this process, each of which needs as much memory
  std::size_t limit_bytes = 0;  // of the plan, as plan::CompileOptions has it; 0: none
  bool keep_gradients = false;  // as plan::CompileOptions has it; to run gradients and update apart
  // So many gradients make one update: those of run_gradients() with steps s * micro_batches and on, and
  // run_update() with step s. REQUIRES: keep_gradients, where there are several.
  int micro_batches = 1;
};

// A network with its compiled step, of training unless the model is for inference, and freshly initialised
// state. Error (unsupported) when there is not the memory for it. Limits the calling thread to its
// cores, and must be run by that thread.
class Session {
 public:
  explicit Session(const SessionOptions& options);

  engine::Executor& executor() { return *executor_; }
  const engine::Executor& executor() const { return *executor_; }
  const backend::Backend& backend() const { return *backend_; }
  const SessionOptions& options() const { return options_; }
  std::int64_t parameters() const { return parameters_; }
  std::int64_t frozen_parameters() const { return frozen_parameters_; }  // of these
  // These are of all micro-batches. What a plan computes again to save memory is no work of the network.
  const graph::Cost& work_per_step() const { return work_per_step_; }
  const graph::Cost& recomputed_per_step() const { return recomputed_per_step_; }

  // Returns the bytes of the plan that become memory.
  std::size_t plan_bytes() const;

  // Returns by how much the session reduced the device's free memory; 0: not known.
  std::int64_t device_bytes() const;

  // Returns the loss of the last step; on a device, it waits for the step. NaN where the network has none.
  float loss() const;

  // Returns a region that outlives a step, in the memory of the device.
  std::span<float> numbers(plan::Region region) const;

  // Returns an executor for the network in inference mode at some batch size, on the live parameters and
  // statistics of this session, or on the shadow weights. Must not outlive the session.
  std::unique_ptr<engine::Executor> make_evaluator(std::int64_t batch, bool shadow_weights) const;
  // Fills the parameters of an evaluator on the shadow weights where some parameters are frozen: those that
  // are trained get their shadow weights, the others stay as they are.
  void renew_evaluator(engine::Executor& evaluator) const;

  // The names of a step's inputs: images and labels, or tokens and lengths. Without the loss there is the
  // first alone.
  struct InputNames {
    const char *inputs, *labels;
  };
  InputNames input_names() const { return input_names_; }

  static constexpr const char* kImages = "images";
  static constexpr const char* kLabels = "labels";
  static constexpr const char* kLogits = "logits:0";
  static constexpr const char* kLoss = "loss:0";

 private:
  SessionOptions options_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<engine::Executor> executor_;
  std::int64_t parameters_ = 0, frozen_parameters_ = 0, free_before_ = 0;
  graph::Cost work_per_step_, recomputed_per_step_;
  InputNames input_names_;
};

// The compiled step alone, for plans that are only looked at.
plan::CompiledStep compile_step(const SessionOptions& options, const backend::Backend& backend);

// Memory that a step takes, by its plan. Error (unsupported), as a session's, when that is more than there
// is.
std::size_t checked_plan_bytes(const SessionOptions& options, const backend::Backend& backend);

}  // namespace trainyard::train
