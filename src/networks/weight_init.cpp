#include "networks/weight_init.h"

#include <cmath>

namespace trainyard::networks {

graph::Initializer WeightInit::for_fans(std::int64_t inputs, std::int64_t outputs) const {
  using graph::Initializer;
  const auto fan_in = static_cast<double>(inputs), fan_out = static_cast<double>(outputs);
  switch (kind_) {
    case Kind::normal:
      return Initializer::normal(value_);
    case Kind::truncated_normal:
      return Initializer::truncated_normal(value_);
    case Kind::variance_scaling:
      return Initializer::truncated_normal(std::sqrt(value_ / fan_in) / kTruncatedDeviation);
    case Kind::fan_in:
      return Initializer::truncated_normal(std::sqrt(value_ / fan_in));
    case Kind::xavier_uniform: {
      const double limit = std::sqrt(6 / (fan_in + fan_out));
      return Initializer::uniform(-limit, limit);
    }
  }
  return {};
}

}  // namespace trainyard::networks
