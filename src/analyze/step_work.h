#pragma once

#include <optional>

#include "analyze/point.h"

namespace trainyard::analyze {

// What a step has to do, whatever device does it.
struct StepWork {
  double launches = 1;    // kernels, or what their number is proportional to: layers
  double flops = 0;       // of matrix products and convolutions
  double bytes = 0;       // that have to move
  double parameters = 0;  // each is read and written by the optimizer, and by every pass of it
  // Lengths of the inner loops of all matrix products, where they are known: a product with few results keeps
  // only some of the device busy, and then takes as long as its inner loop does.
  double inner = 0;
  double images =
      0;  // that the host may have to make and send; 0: it is known how long the device waited for them
};

// From flops_per_step, bytes_per_step, parameters and kernels_per_step of a point, and for fully connected
// networks from their dimensions, and the batch unless input_wait_fraction is known; nothing where flops or
// bytes are not known.
std::optional<StepWork> work_of(const Point& point);

}  // namespace trainyard::analyze
