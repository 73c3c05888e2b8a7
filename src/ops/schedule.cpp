#include "ops/schedule.h"

#include <fmt/core.h>

namespace trainyard::ops {

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
