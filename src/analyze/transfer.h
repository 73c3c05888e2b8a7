#pragma once

#include <span>
#include <vector>

#include "analyze/step_model.h"

namespace trainyard::analyze {

// The same step on two devices.
struct PairedSample {
  StepWork work;
  double source_seconds = 0, target_seconds = 0;
};

// Predicts steps on the target from what they do and from how long they took on the source. A model of each
// device says what is usual; a point that the source took longer for than usual is one the target takes
// longer for, too, by as much as the training points show.
struct TransferModel {
  StepModel source, target;
  double carried_by_host = 0, carried_by_device = 0;  // exponents of measured / predicted on the source

  double predict(const StepWork& work, double source_seconds) const;
};

TransferModel fit_transfer(std::span<const PairedSample> samples, const Roofs& source_roofs = {},
                           const Roofs& target_roofs = {});

}  // namespace trainyard::analyze
