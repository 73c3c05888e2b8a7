#pragma once

#include "base/standard.h"

namespace trainyard::predict {

// Corrections are logarithms of factors between the times of a device and those that its figures let expect.
struct Corrections {
  double whole = 0;                     // of every kernel
  double step = 0;                      // of a step, beside those of its kernels
  std::map<std::string, double> of_op;  // of the kernels of an op, beside `whole`

  double of_kernel(const std::string& op) const {
    const auto at = of_op.find(op);
    return whole + (at == of_op.end() ? 0 : at->second);
  }
};

// Adaptation is what a few runs of a device told of it.
struct Adaptation {
  std::string like;      // the device of the model that is most like it
  double doublings = 0;  // from that device
  Corrections corrections;
  double interval_factor = 1;  // of the interval on a device that nobody measured
};

}  // namespace trainyard::predict
