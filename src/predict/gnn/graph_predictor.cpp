#include <cmath>
#include <map>

#include "base/error.h"
#include "predict/gnn/run_labels.h"
#include "predict/gnn/run_model.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {
namespace {

class GraphPredictor : public Predictor {
 public:
  explicit GraphPredictor(GraphRunModel model) : model_(std::move(model)), graphs_(model_.form) {}

  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<GraphSample> samples;
    std::vector<std::size_t> sample_of;
    std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, std::string>, std::size_t> alike;
    for (const JobDescription& job : jobs) {
      if (job.precision != backend::Precision::f32)
        fail(ErrorKind::config, "precision '{}': this model has seen f32 alone", name(job.precision));
      const auto key = std::tuple(job.network, job.batch, job.classes, job.optimizer, job.device.name);
      const auto [at, fresh] = alike.try_emplace(key, samples.size());
      if (fresh) samples.push_back(graphs_.sample(job));
      sample_of.push_back(at->second);
    }
    const std::vector<std::vector<float>> outputs = predict::predict(model_.network, samples);
    std::vector<Prediction> made;
    for (std::size_t i = 0; i < jobs.size(); ++i) made.push_back(prediction(jobs[i], outputs[sample_of[i]]));
    return made;
  }

  std::vector<DeviceSheet> devices() const override { return model_.seen_devices(); }

 private:
  Prediction prediction(const JobDescription& job, const std::vector<float>& outputs) {
    Prediction made;
    made.step_seconds = outputs[0];
    made.start_seconds = start_seconds_on(model_, job.device);
    made.seconds = (job.with_start ? made.start_seconds : 0) + job.steps * made.step_seconds;
    made.low_seconds = made.seconds * std::exp(-model_.half_interval);
    made.high_seconds = made.seconds * std::exp(model_.half_interval);
    made.memory =
        memory_need(works_.work(job.network, job.batch, job.classes, job.optimizer, job.parameters));
    made.oom_probability = model_.memory.oom_probability(made.memory.total(), job.device);
    for (const GraphRunModel::SeenDevice& one : model_.devices)
      made.device_seen = made.device_seen || same_device_name(one.device.name, job.device.name);
    std::vector<double> shares;
    for (std::size_t o = 1; o < outputs.size(); ++o) shares.push_back(share_of_label(outputs[o]));
    made.use = model_.use.named(shares);
    made.usual_use = model_.use.usual(job.device.name);
    return made;
  }

  GraphRunModel model_;
  JobGraphs graphs_;
  WorkCache works_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(GraphRunModel model) {
  return std::make_unique<GraphPredictor>(std::move(model));
}

}  // namespace trainyard::predict
