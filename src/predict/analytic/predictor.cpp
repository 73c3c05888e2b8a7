#include "predict/analytic/predictor.h"

#include "predict/runs/run_set.h"

namespace trainyard::predict {

JobDescription describe(const TableRun& run, const DeviceSheet& device) {
  const NamedNetwork network = network_of(run);
  return {.network = network.network,
          .batch = run.batch,
          .classes = run.classes,
          .input = network.input,
          .optimizer = run.optimizer,
          .device = device,
          .steps = run.steps(),
          .precision = run.precision,
          .with_start = run.with_start,
          .parameters = run.parameters};
}

WorkOptions work_options(const JobDescription& job) {
  return {.network = job.network,
          .batch = job.batch,
          .classes = job.classes,
          .input = job.input,
          .optimizer = job.optimizer,
          .parameters = job.parameters};
}

std::vector<std::string> families_of(const std::vector<std::string>& networks) {
  std::set<std::string> families;
  for (const std::string& network : networks) families.insert(family_of(network));
  return {families.begin(), families.end()};
}

namespace {

class TimePredictor : public Predictor {
 public:
  explicit TimePredictor(TimeModel model) : model_(std::move(model)) {}

  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<Prediction> made;
    for (const JobDescription& job : jobs) {
      if (!knows(job.precision))
        fail(ErrorKind::config, "precision '{}': this model was fitted to f32 alone", name(job.precision));
      made.push_back(predict::predict(model_, works_.work(work_options(job)),
                                      model_.find(job.device.name, {job.device}), job.steps, job.with_start));
    }
    return made;
  }

  std::vector<DeviceSheet> devices() const override { return model_.seen_devices(); }
  bool knows(backend::Precision precision) const override { return precision == backend::Precision::f32; }

  Basis basis(const JobDescription& job) const override {
    const DeviceModel on = model_.find(job.device.name, {job.device});
    return {.model = "analytic",
            .runs = model_.runs,
            .device = on.device.name,
            .device_seen = on.runs > 0,
            .device_runs = on.runs,
            .families = families_of(model_.networks)};
  }

 private:
  TimeModel model_;
  WorkCache works_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(TimeModel model) {
  return std::make_unique<TimePredictor>(std::move(model));
}

}  // namespace trainyard::predict
