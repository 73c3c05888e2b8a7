#include "stats/test_series.h"

#include <numbers>

#include "base/philox.h"

namespace trainyard::stats {

double TestNoise::uniform() {
  const Philox::Block words = Philox(seed_, stream_of("test noise")).block(drawn_++);
  return (words[0] + 0.5) * 0x1p-32;
}

double TestNoise::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<double> TestNoise::autoregressive(int steps, double rho) {
  std::vector<double> series(static_cast<std::size_t>(steps));
  double value = normal();
  for (double& sample : series) {
    sample = value;
    value = rho * value + std::sqrt(1 - rho * rho) * normal();
  }
  return series;
}

std::vector<double> TestNoise::steps(int steps, double level, double relative_spread, double rho) {
  std::vector<double> series = autoregressive(steps, rho);
  for (double& value : series) value = level * (1 + relative_spread * value);
  return series;
}

}  // namespace trainyard::stats
