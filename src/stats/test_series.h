#pragma once

#include "base/standard.h"

namespace trainyard::stats {

// Made-up step times for tests; the same seed gives the same numbers.
class TestNoise {
 public:
  explicit TestNoise(std::uint64_t seed) : seed_(seed) {}

  double uniform();  // (0, 1)
  double normal();   // mean 0, variance 1

  // Stationary, mean 0, variance 1: x[t] = rho * x[t - 1] + innovation.
  std::vector<double> autoregressive(int steps, double rho);

  // level * (1 + relative_spread * noise).
  std::vector<double> steps(int steps, double level, double relative_spread, double rho = 0);

 private:
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace trainyard::stats
