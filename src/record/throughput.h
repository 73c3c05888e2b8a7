#pragma once

#include <cstdint>

namespace trainyard::record {

// Speed from images that were counted as they were consumed, on all devices together: what the steps were
// meant to consume plays no part.
struct Throughput {
  std::int64_t images_consumed = 0, steps = 0;
  int devices = 1;

  double images_per_step() const {
    return steps > 0 ? static_cast<double>(images_consumed) / static_cast<double>(steps) : 0;
  }
  double images_per_second(double step_seconds) const { return images_per_step() / step_seconds; }
  double images_per_second_per_device(double step_seconds) const {
    return images_per_second(step_seconds) / devices;
  }
};

}  // namespace trainyard::record
