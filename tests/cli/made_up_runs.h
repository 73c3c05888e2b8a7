#pragma once

#include <string>

#include <fmt/core.h>

namespace trainyard::cli_test {

// A table of runs as GPUAlloc publishes them: three networks on two devices, times made up of steps.
inline std::string made_up_runs() {
  struct Network {
    const char* name;
    double fixed_ms, image_ms;
  };
  std::string text =
      "GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Resource,avg Idle time,avg Active time,avg Peak "
      "consumption,Execution Time\n";
  for (const char* device : {"GTX1080", "RTX2070"})
    for (const Network& network :
         {Network{"lenet", 1.6, 0.02}, Network{"resnet20", 7.5, 0.05}, Network{"densenet40-k12", 12, 0.8}})
      for (const int batch : {8, 32})
        for (const int epochs : {10, 20}) {
          const double step = (network.fixed_ms + network.image_ms * batch) / 1e3;
          text += fmt::format("{},{},{},sgd,{},cifar10,GPU Util%,0.9,0.1,0.9,{}\n", device, network.name,
                              batch, epochs, 10 + epochs * 50000.0 / batch * step);
        }
  return text;
}

}  // namespace trainyard::cli_test
