#pragma once

#include "data/batch_stream.h"
#include "train/session.h"

namespace trainyard::train {

// Puts the training images into the memory of the session's device, and a kernel before each step that makes
// its batch of them: the batches that a BatchStream of these options makes. False: the device is the host or
// makes no batches, or the images are not in memory; then the host feeds it.
// REQUIRES: no step was run yet.
bool feed_from_device(Session& session, const data::Dataset& dataset,
                      const data::BatchStreamOptions& options);

}  // namespace trainyard::train
