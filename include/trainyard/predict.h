#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "trainyard/network.h"

namespace trainyard {

struct PredictSettings {
  std::string device;  // that the model has seen, or one with a known data sheet: "RTX2070", "H200"
  std::int64_t batch = 32;
  std::string optimizer = "sgd";  // "momentum", "rmsprop", "adam"
  std::string precision = "f32";  // a model must have seen it
  double steps = 1;
};

struct PredictedRun {
  double step_seconds = 0;
  double seconds = 0, low_seconds = 0,
         high_seconds = 0;  // of all steps; 90 % of runs are between low and high
  double memory_bytes = 0;
  double out_of_memory_probability = 0;
  bool device_seen = false;  // false: by the device's data sheet alone
};

// A model of the time of training steps. One thread at a time.
class StepPredictor {
 public:
  StepPredictor();  // by the models that the library carries
  // By one that `trainyard predict fit` wrote.
  explicit StepPredictor(const std::filesystem::path& model_file);
  ~StepPredictor();
  StepPredictor(StepPredictor&&) noexcept;
  StepPredictor& operator=(StepPredictor&&) noexcept;

  std::vector<std::string> devices() const;  // that it has seen

  // Error (unsupported) for a network from an ONNX file: models know networks by their names.
  PredictedRun predict(const Network& network, const PredictSettings& settings) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard
