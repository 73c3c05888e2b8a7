#pragma once

#include "data/source/dataset.h"
#include "train/exchange/replicas.h"
#include "train/loop/loop.h"

namespace trainyard::train {

// Trains on all devices together; device 0's thread is the calling one, and each device has one more thread
// that prepares its batches, several where the host feeds a GPU. `folder` may be null: then nothing is kept.
// With ranks, all of them call it: rank 0 with the folder, the others without, and only rank 0 evaluates.
// Ends as run_loop() does. Error (device) when a loss is not a number any more; then nothing is saved.
TrainResult run_training(Replicas& replicas, const data::Dataset& dataset, const TrainOptions& options,
                         const RunFolder* folder);

// Trains one network per device, each with its own seed, order of data and folder; nothing is exchanged, no
// step waits for another device's. `folders` is empty or has one for each device. The first error ends the
// others after their current step.
std::vector<TrainResult> run_independent(const SessionOptions& options, const Deployment& deployment,
                                         const data::Dataset& dataset, const TrainOptions& train,
                                         const std::vector<std::unique_ptr<RunFolder>>& folders);

// Combines the results into one: losses and accuracy are means, images are counted together.
TrainResult combine(const std::vector<TrainResult>& devices);

// Returns step i of replicas that ran on their own, as if of one run: images over it give the sum of the
// devices' speeds in their step i. The result is as long as the shortest list.
std::vector<double> combine_steps(const std::vector<std::vector<double>>& step_seconds);

}  // namespace trainyard::train
