#pragma once

#include <cstdint>
#include <filesystem>
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

  // To go on from weights that were trained before: .onnx, .safetensors, a PyTorch state dict (.pt, .pth), a
  // checkpoint or the folder of a run. Tensors are matched by name. The last layer starts afresh where its
  // shape differs, or with new_head; other differences are Errors, but for tensors that are missing or too
  // many where partial_weights is set.
  std::filesystem::path weights;
  bool new_head = false, partial_weights = false;
  std::string freeze;  // parameters that are not trained: "conv1,block2/*", "all-but-head"
};

}  // namespace trainyard
