#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "predict/kernels/kernel_model.h"
#include "predict/work_cache.h"

namespace trainyard::predict {
namespace {

// What a step follows from.
using StepKey =
    std::tuple<std::string, std::int64_t, int, ops::Rule, backend::Precision, networks::generator::Given>;

class KernelPredictor : public Predictor {
 public:
  explicit KernelPredictor(KernelModel model) : model_(std::move(model)) {}

  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<Prediction> all;
    for (const JobDescription& job : jobs) all.push_back(predict_one(job));
    return all;
  }

  std::vector<Device> devices() const override {
    std::vector<Device> seen;
    for (const DeviceRates& one : model_.devices())
      if (std::find(seen.begin(), seen.end(), one.device) == seen.end()) seen.push_back(one.device);
    return seen;
  }

 private:
  Prediction predict_one(const JobDescription& job) {
    const DeviceRates on = model_.find(job.device, job.precision);
    const StepEstimate step = model_.step(kernels(job), on.rates);
    Prediction made;
    made.step_seconds = step.seconds;
    made.seconds = job.steps * step.seconds;  // what a process takes to start is not learned
    const double half = model_.intervals.half(step);
    made.low_seconds = made.seconds * std::exp(-half);
    made.high_seconds = made.seconds * std::exp(half);
    made.known = step.known;
    made.device_seen = on.runs > 0;
    made.memory = memory(job, step.seconds);
    made.oom_probability = MemoryModel{}.oom_probability(made.memory.total(), on.device);
    return made;
  }

  static StepKey key_of(const JobDescription& job) {
    return {job.network, job.batch, job.classes, job.optimizer, job.precision, job.parameters};
  }

  const std::vector<AlikeKernels>& kernels(const JobDescription& job) {
    const StepKey key = key_of(job);
    if (const auto at = made_.find(key); at != made_.end()) return at->second;
    return made_.emplace(key, kernels_of(job)).first->second;
  }

  // By first principles where the model has seen no memory.
  MemoryNeed memory(const JobDescription& job, double step_seconds) {
    if (model_.memory.empty())
      return memory_need(works_.work(job.network, job.batch, job.classes, job.optimizer, job.parameters));
    const std::size_t on = model_.memory.find(job.device.name, job.precision);
    const auto key = std::tuple(key_of(job), on, job.device.memory_bytes);
    auto at = planned_.find(key);
    if (at == planned_.end()) at = planned_.emplace(key, model_.memory.plan(job, on)).first;
    return model_.memory.need(at->second, on, step_seconds, job.steps);
  }

  KernelModel model_;
  WorkCache works_;
  std::map<StepKey, std::vector<AlikeKernels>> made_;
  std::map<std::tuple<StepKey, std::size_t, double>, PlannedStep> planned_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(KernelModel model) {
  return std::make_unique<KernelPredictor>(std::move(model));
}

}  // namespace trainyard::predict
