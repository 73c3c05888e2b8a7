#pragma once

#include "train/training.h"

namespace trainyard::train {

// One network per device, each with its own seed, order of data and folder; nothing is exchanged, no step
// waits for another device's. `folders` is empty or has one for each device. The first error ends the others
// after their current step.
std::vector<TrainResult> run_independent(const SessionOptions& options, const Deployment& deployment,
                                         const data::Dataset& dataset, const TrainOptions& train,
                                         const std::vector<std::unique_ptr<RunFolder>>& folders);

// As one result: losses and accuracy are means, images are counted together.
TrainResult combine(const std::vector<TrainResult>& devices);

// Step i of replicas that ran on their own, as if of one run: images over it give the sum of the devices'
// speeds in their step i. As long as the shortest.
std::vector<double> combine_steps(const std::vector<std::vector<double>>& step_seconds);

}  // namespace trainyard::train
