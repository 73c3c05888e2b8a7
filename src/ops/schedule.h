#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

namespace trainyard::ops {

// Learning rate as a function of the step, so that every backend can compute it where the update runs.
struct Schedule {
  enum class Kind : std::uint8_t { constant, step_decay, exponential_decay, cosine };
  Kind kind = Kind::constant;
  double rate = 0.1;             // at step 0, after the warm-up
  double factor = 0.1;           // decays: multiplied in every decay_steps
  std::int64_t decay_steps = 1;  // cosine: length of the half wave
  double final_rate = 0;         // cosine: where it ends and stays
  std::int64_t warmup_steps =
      0;  // linear from rate / warmup_steps up to rate; the other kinds start after it

  constexpr double at(std::int64_t step) const;  // constexpr: devices call it, too
  constexpr bool is_constant() const { return kind == Kind::constant && warmup_steps == 0; }
  std::string to_string() const;
};

constexpr double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const double t =
      static_cast<double>(step - warmup_steps) / static_cast<double>(std::max<std::int64_t>(1, decay_steps));
  switch (kind) {
    case Kind::constant:
      return rate;
    case Kind::step_decay:
      return rate * std::pow(factor, std::floor(t));
    case Kind::exponential_decay:
      return rate * std::pow(factor, t);
    case Kind::cosine:
      return final_rate + (rate - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(t, 1.0)));
  }
  return rate;
}

}  // namespace trainyard::ops
