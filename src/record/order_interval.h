#pragma once

#include <span>

#include "record/step_statistics.h"

namespace trainyard::record {

// The 95 % interval of the median of the distribution that the samples come from, by order statistics with
// interpolation (Hettmansperger & Sheather 1986): it asks nothing of the distribution. Up to five samples
// cannot tell so much by their order alone; their range is widened by what normal samples would need.
// REQUIRES: two samples.
Interval order_interval(std::span<const double> samples);

}  // namespace trainyard::record
