#pragma once

#include <vector>

#include "predict/kernels/nearest_process.h"

namespace trainyard::predict {

struct TimedShape {
  const KernelShape* shape;
  double seconds;
  double weight;  // what of its run
};

// The rates of a device that agree best with kernels that were measured: least squares of logarithms, robust,
// from what is known (`first`: peaks and launches, as measured or by the data sheet).
Rates fit_rates(const std::vector<TimedShape>& kernels, const Rates& first);

}  // namespace trainyard::predict
