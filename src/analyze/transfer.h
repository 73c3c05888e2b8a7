#pragma once

#include <span>
#include <vector>

#include "analyze/step_model.h"

namespace trainyard::analyze {

// PairedSample is the same step on two devices.
struct PairedSample {
  StepWork work;
  double source_seconds = 0, target_seconds = 0;
};

// TransferModel predicts steps on the target from their work and from their time on the source. A model of
// each device gives the usual time. A point that took longer than usual on the source is predicted to take
// longer on the target too, by a factor that the training points show.
struct TransferModel {
  StepModel source, target;
  double carried_by_host = 0, carried_by_device = 0;  // exponents of measured / predicted on the source

  double predict(const StepWork& work, double source_seconds) const;
};

TransferModel fit_transfer(std::span<const PairedSample> samples, const Roofs& source_roofs = {},
                           const Roofs& target_roofs = {});

}  // namespace trainyard::analyze
