#pragma once

#include "data/augment.h"
#include "data/dataset.h"
#include "engine/checkpoint_manifest.h"
#include "train/session.h"

namespace trainyard::train {

// Everything that decides what a run computes, apart from its length: a run may go on from a checkpoint only
// if all of it agrees. Backend and threads are left out: they change rounding, not the run; so is the
// strategy, as all that exchange gradients compute the same.
engine::CheckpointHeader run_identity(const SessionOptions& options, const data::Dataset& dataset,
                                      const data::Preprocess& preprocess, int devices);

}  // namespace trainyard::train
