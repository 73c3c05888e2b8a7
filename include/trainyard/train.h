#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainyard/network.h"
#include "trainyard/settings.h"

namespace trainyard {

struct TrainSettings {
  RunSettings run;
  // Made for the network; or "mnist", "cifar10", "moby-dick", "folder:DIR", "tfrecord:DIR", "text:FILE",
  // "tokens:DIR", "language:SEED".
  std::string data = "synthetic";
  std::filesystem::path data_folder;  // with the files of the data set; empty: the cache, ~/.cache/trainyard
  std::int64_t steps = 100;           // of the whole run, also when it is resumed
  bool evaluate = true;               // on the test images, at the end
  // The folder for checkpoints, the event file and the lock; empty: nothing is kept. Where it has checkpoints
  // already, `resume` goes on from the newest, and without it the call is an Error.
  std::filesystem::path folder;
  std::int64_t checkpoint_every = 500;
  bool resume = false;
  // Hears how many steps are done, several times a second at most, in the thread that trains.
  std::function<void(std::int64_t done)> on_progress;
};

struct TrainReport {
  std::int64_t first_step = 0, final_step = 0;  // steps [first, final) were done by this call
  std::vector<double> step_seconds;             // of each of them
  double seconds = 0;                           // with evaluation and checkpoints
  double images_per_second = 0;                 // over all steps but the first
  double first_loss = 0;                        // before any update
  double final_loss = 0;                        // mean of the last ten steps
  bool diverged = false;                        // final_loss is far above first_loss
  std::optional<double> test_accuracy;          // share of the test images that it names right
  std::filesystem::path checkpoint;             // the last one; empty: none was written
};

// Trains the network and returns when it is done. The work runs in threads of its own, so the caller's
// thread keeps its cores. One call at a time in a process.
TrainReport train_network(const Network& network, const TrainSettings& settings = {});

}  // namespace trainyard
