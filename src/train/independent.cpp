#include "train/independent.h"

#include <algorithm>

#include "base/stop_request.h"
#include "engine/checkpoint.h"

namespace trainyard::train {

std::vector<TrainResult> run_independent(const SessionOptions& options, const Deployment& deployment,
                                         const data::Dataset& dataset, const TrainOptions& train,
                                         const std::vector<std::unique_ptr<RunFolder>>& folders) {
  const StopRequest guard;
  const std::vector<std::vector<int>> cores = share_cores(options.threads, deployment.devices);
  std::vector<TrainResult> results(cores.size());
  DeviceThreads threads(deployment.devices);
  threads.run([&](int device) {
    const auto index = static_cast<std::size_t>(device);
    SessionOptions own = options;
    own.cores = cores[index];
    own.seed = device_seed(options.seed, device);
    TrainOptions loop = train;
    loop.quiet = train.quiet || device > 0;
    const RunFolder* folder = folders.empty() ? nullptr : folders[index].get();
    loop.resume = train.resume && folder != nullptr && engine::latest_checkpoint(folder->path());
    try {
      Replicas replicas(own, {});
      results[index] = run_training(replicas, dataset, loop, folder);
    } catch (...) {
      StopRequest::ask();
      throw;
    }
  });
  return results;
}

std::vector<double> combine_steps(const std::vector<std::vector<double>>& step_seconds) {
  std::size_t steps = step_seconds.front().size();
  for (const auto& seconds : step_seconds) steps = std::min(steps, seconds.size());
  std::vector<double> combined(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    double rate = 0;
    for (const auto& seconds : step_seconds) rate += 1 / seconds[i];
    combined[i] = static_cast<double>(step_seconds.size()) / rate;
  }
  return combined;
}

TrainResult combine(const std::vector<TrainResult>& devices) {
  TrainResult whole = devices.front();
  std::vector<std::vector<double>> step_seconds;
  const auto count = static_cast<double>(devices.size());
  double first_loss = 0, final_loss = 0, accuracy = 0;
  whole.images_consumed = 0;
  if (devices.size() > 1) {
    whole.loss_curve = {};
    whole.accuracy_curve.clear();
  }
  whole.facts.threads *= static_cast<int>(devices.size());
  whole.facts.flops_per_step *= static_cast<std::int64_t>(devices.size());
  whole.facts.bytes_per_step *= static_cast<std::int64_t>(devices.size());
  for (const TrainResult& each : devices) step_seconds.push_back(each.step_seconds);
  whole.step_seconds = combine_steps(step_seconds);
  const auto steps = static_cast<std::int64_t>(whole.step_seconds.size());
  for (const TrainResult& each : devices) {
    const auto done = static_cast<std::int64_t>(each.step_seconds.size());
    whole.images_consumed += done > 0 ? each.images_consumed / done * steps : 0;  // in the common steps
    whole.interrupted = whole.interrupted || each.interrupted;
    whole.diverged = whole.diverged || each.diverged;
    whole.seconds = std::max(whole.seconds, each.seconds);
    whole.final_step = std::min(whole.final_step, each.final_step);
    whole.input_wait_seconds = std::max(whole.input_wait_seconds, each.input_wait_seconds);
    first_loss += each.first_loss / count;
    final_loss += each.final_loss / count;
    accuracy += each.test_accuracy.value_or(0) / count;
    if (!each.test_accuracy) whole.test_accuracy.reset();
  }
  whole.first_loss = static_cast<float>(first_loss);
  whole.final_loss = final_loss;
  if (whole.test_accuracy) whole.test_accuracy = accuracy;
  return whole;
}

}  // namespace trainyard::train
