#include "ops/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

namespace trainyard::ops {

double Schedule::at(std::int64_t step) const {
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

std::string Schedule::to_string() const {
  std::string text;
  switch (kind) {
    case Kind::constant:
      text = fmt::format("constant {}", rate);
      break;
    case Kind::step_decay:
      text = fmt::format("{} x {} every {} steps", rate, factor, decay_steps);
      break;
    case Kind::exponential_decay:
      text = fmt::format("{} x {} per {} steps", rate, factor, decay_steps);
      break;
    case Kind::cosine:
      text = fmt::format("cosine {} to {} in {} steps", rate, final_rate, decay_steps);
      break;
  }
  return warmup_steps > 0 ? fmt::format("{}, warm-up {} steps", text, warmup_steps) : text;
}

}  // namespace trainyard::ops
