#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace trainyard::networks {

// How the weights of a layer start; the layer knows how many inputs feed one output, and the reverse.
class WeightInit {
 public:
  static constexpr WeightInit normal(double sigma) { return {Kind::normal, sigma}; }
  static constexpr WeightInit truncated_normal(double sigma) { return {Kind::truncated_normal, sigma}; }
  // TensorFlow's variance_scaling_initializer: variance factor / fan-in, measured after the truncation.
  static constexpr WeightInit variance_scaling(double factor) { return {Kind::variance_scaling, factor}; }
  // Truncated normal of sigma sqrt(factor / fan-in), measured before it.
  static constexpr WeightInit fan_in(double factor) { return {Kind::fan_in, factor}; }
  static constexpr WeightInit xavier_uniform() { return {Kind::xavier_uniform, 0}; }

  graph::Initializer for_fans(std::int64_t inputs, std::int64_t outputs) const;

 private:
  enum class Kind : std::uint8_t { normal, truncated_normal, variance_scaling, fan_in, xavier_uniform };
  constexpr WeightInit(Kind kind, double value) : kind_(kind), value_(value) {}

  Kind kind_;
  double value_;
};

// Standard deviation of a unit normal that is drawn again beyond two sigma.
inline constexpr double kTruncatedDeviation = 0.87962566103423978;

}  // namespace trainyard::networks
