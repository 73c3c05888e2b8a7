#pragma once

#include <vector>

#include "predict/step_time.h"

namespace trainyard::predict {

// A run that ended well: which work, on which device, how many steps, in how many seconds.
struct Observation {
  std::size_t work = 0, device = 0;
  double steps = 0, seconds = 0;
  bool with_start = true;
};

struct FittedConstants {
  SharedConstants shared;
  std::vector<DeviceConstants> own;  // of each device
};

// What the fit begins with and is pulled to.
struct ConstantsPrior {
  SharedConstants shared = first_shared();
  std::vector<DeviceConstants> own;  // of each device
  bool fixed_shared = false;         // only the devices' are fitted
};

// Least squares of the logarithms of seconds, robust, where the logarithm of a constant that lies its
// deviation away from the prior weighs as much as `kPriorRuns` runs that are wrong by 5 %.
inline constexpr double kPriorRuns = 60;
FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<Device>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior);

}  // namespace trainyard::predict
