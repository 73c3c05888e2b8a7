#include "base/error.h"
#include "predict/bundled/bundled_models.h"
#include "predict/read_predictor.h"

namespace trainyard::predict {
namespace {

class BundledPredictor : public Predictor {
 public:
  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<Prediction> made;
    for (const JobDescription& job : jobs) made.push_back(carried(model_for(job)).predictor->predict(job));
    return made;
  }

  std::vector<DeviceSheet> devices() const override {
    std::vector<DeviceSheet> all;
    for (std::size_t m = 0; m < models_.size(); ++m)
      for (const DeviceSheet& device : carried(m).devices) all.push_back(device);
    return all;
  }

  bool knows(backend::Precision precision) const override {
    for (std::size_t m = 0; m < models_.size(); ++m)
      if (carried(m).predictor->knows(precision)) return true;
    return false;
  }

  Basis basis(const JobDescription& job) const override {
    const std::size_t number = model_for(job);
    Basis basis = carried(number).predictor->basis(job);
    basis.model = fmt::format("{} ({})", bundled_models()[number].name, basis.model);
    return basis;
  }

 private:
  struct Carried {
    std::unique_ptr<Predictor> predictor;
    std::vector<DeviceSheet> devices;
  };

  Carried& carried(std::size_t number) const {
    std::unique_ptr<Carried>& model = models_[number];
    if (model == nullptr) {
      const BundledModel& bundled = bundled_models()[number];
      model = std::make_unique<Carried>();
      model->predictor = parse_predictor(parse_model_container(bundled.file, bundled.name), bundled.name);
      model->devices = model->predictor->devices();
    }
    return *model;
  }

  std::size_t model_for(const JobDescription& job) const {
    std::optional<std::size_t> nearest;
    double least = kOtherKind;
    for (std::size_t m = 0; m < models_.size(); ++m) {
      const Carried& model = carried(m);
      if (!model.predictor->knows(job.precision)) continue;
      for (const DeviceSheet& device : model.devices) {
        if (same_device_name(device.name, job.device.name)) return m;
        const double doublings = doublings_between(device, job.device);
        if (!bundled_models()[m].of_our_engine || doublings >= least) continue;
        least = doublings;
        nearest = m;
      }
    }
    if (!nearest)
      fail(ErrorKind::config, "device '{}', precision '{}': the program carries no model of a device like it",
           job.device.name, name(job.precision));
    return *nearest;
  }

  // Reading takes a moment, so that a model is read when it is asked.
  mutable std::vector<std::unique_ptr<Carried>> models_ =
      std::vector<std::unique_ptr<Carried>>(bundled_models().size());
};

}  // namespace

const BundledModel& bundled_model_like(const DeviceSheet& device) {
  const BundledModel* like = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const BundledModel& model : bundled_models()) {
    if (!model.of_our_engine) continue;
    for (const DeviceSheet& seen :
         parse_predictor(parse_model_container(model.file, model.name), model.name)->devices()) {
      const double doublings = same_device_name(seen.name, device.name) ? 0 : doublings_between(seen, device);
      if (doublings >= least) continue;
      least = doublings;
      like = &model;
    }
  }
  return *like;
}

std::unique_ptr<Predictor> make_bundled_predictor() { return std::make_unique<BundledPredictor>(); }

}  // namespace trainyard::predict
