#pragma once

// For tests only: runs whose kernels follow a law.

#include "networks/zoo/zoo.h"
#include "predict/kernels/kernel_model.h"

namespace trainyard::predict {

inline const Rates kLaw{.flops_per_second = 3e11,
                        .bytes_per_second = 4e10,
                        .launch_seconds = 2e-6,
                        .half_columns = 8,
                        .half_inner = 20,
                        .half_tiles = 1};

// Makes a run whose kernels follow a law. Neighbours do the activations; the step takes a tenth more than its
// kernels.
inline TableRun run_by_law(const char* network, std::int64_t batch, double factor = 1) {
  TableRun run{.device = "GTX1080", .network = network, .batch = batch, .epochs = 10};
  run.images_per_epoch = static_cast<double>(batch);
  run.warmup_steps = 0;
  run.with_start = false;
  networks::Model model = networks::build_model({.network = network, .batch = batch});
  networks::add_training_step(model, {});
  const StepShapes step = step_shapes(model.graph, backend::Precision::f32);
  double seconds = 0, update = 0;
  for (std::size_t n = 0; n < step.names.size(); ++n) {
    const std::string& op = step.shapes[n].op;
    const double taken = factor * kLaw.seconds(step.shapes[n]);
    if (op.starts_with("activation")) continue;
    seconds += taken;
    if (op == "update" || op == "dense_update")
      update += taken;
    else
      run.kernels.push_back({step.names[n], op, taken});
  }
  run.kernels.push_back({"a copy before it", "reorder", 0.0});
  run.kernels.push_back({"update", "update", update});
  run.seconds = run.steps() * 1.1 * seconds;
  return run;
}

inline RunSet set_by_law() {
  RunTable table{"by law", {}};
  for (const char* network : {"resnet20", "deepmnist", "cifarnet", "densenet40_k12"})
    for (const std::int64_t batch : {2, 8, 32}) table.runs.push_back(run_by_law(network, batch));
  return prepare_runs(table, known_devices());
}

}  // namespace trainyard::predict
