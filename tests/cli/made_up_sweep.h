#pragma once

#include <string>

#include <fmt/format.h>

namespace trainyard::cli_test {

// A sweep in the form of ParaDnn's gpu_fc.json, of a device with 100 Tflop/s at most and one step of launches
// a millisecond; the widest, deepest points ran out of memory. `speed` scales it.
inline std::string made_up_sweep(double speed = 1) {
  std::string labels, failed, states, parameters, counted, rates, intensity, steps, images;
  const auto add = [](std::string& list, const std::string& entry) {
    list += (list.empty() ? "" : ", ") + entry;
  };
  for (const int layers : {4, 16, 64})
    for (const int width : {32, 512, 4096})
      for (const int batch : {64, 1024}) {
        const std::string label =
            fmt::format("\"layer_{}-node_{}-input_2000-output_1000-bs_{}\"", layers, width, batch);
        if (layers == 64 && width == 4096) {
          add(failed, label);
          add(states, "\"OOM\"");
          continue;
        }
        const double weights = (layers - 1.0) * width * width + width * 3000.0, flops = 6.0 * batch * weights;
        const double seconds = 1e-3 + 1e-4 * layers + flops / (1e14 * speed);
        add(labels, label);
        add(parameters, fmt::format("{}", weights));
        add(counted, fmt::format("{}", flops / 1e9));
        add(rates, fmt::format("{}", flops / 1e9 / seconds));
        add(intensity, fmt::format("{}", flops / weights / 4));
        add(steps, fmt::format("{}", 1 / seconds));
        add(images, fmt::format("{}", batch / seconds));
      }
  return fmt::format(
      R"({{"labels": [{}], "err_jobs": [{}], "states": [{}], "params": [{}], "fl": [{}], "flops": [{}], "intensity": [{}], "step_per_sec": [{}], "example_per_sec": [{}]}})",
      labels, failed, states, parameters, counted, rates, intensity, steps, images);
}

}  // namespace trainyard::cli_test
