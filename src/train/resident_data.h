#pragma once

#include "backend/kernel.h"
#include "data/batch_maker.h"
#include "train/session.h"

namespace trainyard::train {

// Puts the training images into the memory of the session's device, and a kernel before each step that makes
// its batch of them: the batches that a BatchStream of these options makes. Or the reason why not; then the
// host must make them. REQUIRES: no step was run yet.
backend::Decision feed_from_device(Session& session, const data::Dataset& dataset,
                                   const data::BatchStreamOptions& options);

}  // namespace trainyard::train
