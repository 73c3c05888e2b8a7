#include "trainyard/predict.h"

#include "api/session_options.h"
#include "predict/bundled/bundled_models.h"
#include "predict/read_predictor.h"

namespace trainyard {

struct StepPredictor::Parts {
  std::unique_ptr<predict::Predictor> model;
};

StepPredictor::StepPredictor() : parts_(std::make_unique<Parts>(Parts{predict::make_bundled_predictor()})) {}

StepPredictor::StepPredictor(const std::filesystem::path& model_file)
    : parts_(std::make_unique<Parts>(Parts{predict::read_predictor(model_file)})) {}

StepPredictor::~StepPredictor() = default;
StepPredictor::StepPredictor(StepPredictor&&) noexcept = default;
StepPredictor& StepPredictor::operator=(StepPredictor&&) noexcept = default;

std::vector<std::string> StepPredictor::devices() const {
  std::vector<std::string> names;
  for (const predict::DeviceSheet& device : parts_->model->devices()) names.push_back(device.name);
  return names;
}

PredictedRun StepPredictor::predict(const Network& network, const PredictSettings& settings) const {
  const networks::ModelOptions& model = network.parts().model;
  if (model.imported)
    fail(ErrorKind::unsupported,
         "network '{}': comes from a file, and models know networks only by their names", network.name());
  api::want_number("batch", static_cast<double>(settings.batch));
  if (!(settings.steps > 0))
    fail(ErrorKind::usage, "{} {}: a number above 0 expected", Setting{"steps"}, settings.steps);
  std::vector<predict::DeviceSheet> devices = parts_->model->devices();
  const auto seen = [&](const predict::DeviceSheet& device) {
    return std::any_of(devices.begin(), devices.end(), [&](const predict::DeviceSheet& one) {
      return predict::same_device_name(one.name, device.name);
    });
  };
  for (const predict::DeviceSheet& device : predict::known_devices())
    if (!seen(device)) devices.push_back(device);
  const predict::Prediction made =
      parts_->model->predict({.network = model.network,
                              .batch = settings.batch,
                              .classes = model.classes,
                              .optimizer = predict::optimizer_named(settings.optimizer),
                              .device = predict::find_device(devices, settings.device),
                              .steps = settings.steps,
                              .precision = predict::precision_named(settings.precision),
                              .with_start = false,
                              .parameters = model.parameters});
  return {.step_seconds = made.step_seconds,
          .seconds = made.seconds,
          .low_seconds = made.low_seconds,
          .high_seconds = made.high_seconds,
          .memory_bytes = made.memory.total(),
          .out_of_memory_probability = made.oom_probability,
          .device_seen = made.device_seen};
}

}  // namespace trainyard
