#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

// These settings say where a network runs and how it is updated. A function that gets a value it does not
// allow throws Error, which names the setting and the allowed values.
struct RunSettings {
  std::int64_t batch = 128;       // images, or sequences, a step
  std::string device = "cpu";     // "cuda", "cuda:1"
  std::string backend = "auto";   // "onednn", "cuda", "reference"
  std::string precision = "f32";  // "tf32", "bf16", on a GPU
  int threads = 0;                // of the CPU; 0: every core that the process may use
  std::uint64_t seed = 1;         // of everything random

  std::string optimizer = "sgd";  // "momentum", "nesterov", "rmsprop", "adam", "adamw"
  double learning_rate = 0;       // 0: 0.01, or 0.001 for adam and adamw
  double momentum = 0.9;          // of momentum, nesterov and rmsprop
  double weight_decay = 0;        // L2 penalty on the weights; decoupled for adamw
};

}  // namespace trainyard
