#pragma once

#include "predict/analytic/predictor.h"

namespace trainyard::predict {

// BundledModel is a model file that is part of the program.
struct BundledModel {
  const char* name;
  bool of_our_engine;  // not of another framework
  std::span<const std::byte> file;
};
// Those of our own engine come first: where several know a device, the first is asked.
std::span<const BundledModel> bundled_models();
// Returns the model of our own engine that has seen the device, or the one most like it.
const BundledModel& bundled_model_like(const DeviceSheet& device);

// Makes a predictor of all models that the program carries. A job goes to a model that has seen its device in
// its precision, or else to the model of our own engine with the device most like it. Models are read when
// the first job or question needs them.
std::unique_ptr<Predictor> make_bundled_predictor();

}  // namespace trainyard::predict
