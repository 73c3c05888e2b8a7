#pragma once

#include "predict/runs/run_table.h"

namespace trainyard::predict {

// Makes a table of runs by a made-up law: a start, and steps of a fixed part and one for each image.
inline RunTable made_up_table() {
  struct Network {
    const char* name;
    double fixed_seconds, image_seconds;
  };
  RunTable table{"made up", {}};
  for (const char* device : {"GTX1080", "TitanX"})
    for (const Network& network : {Network{"lenet", 1.6e-3, 2e-5}, Network{"resnet20", 7.5e-3, 5e-5},
                                   Network{"densenet40_k12", 12e-3, 8e-4}})
      for (const int batch : {8, 16, 32, 64})
        for (const double epochs : {10.0, 20.0}) {
          TableRun run{.device = device, .network = network.name, .batch = batch, .epochs = epochs};
          run.dataset = "cifar10";
          run.images_per_epoch = 50000;
          run.classes = 11;
          run.seconds = 10 + run.steps() * (network.fixed_seconds + network.image_seconds * batch);
          table.runs.push_back(run);
        }
  return table;
}

}  // namespace trainyard::predict
