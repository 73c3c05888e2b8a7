#include "record/stopping.h"

#include <span>

#include "record/block_bootstrap.h"
#include "record/statistics.h"
#include "record/steady_state.h"

namespace trainyard::record {

const char* name(Stopping state) {
  switch (state) {
    case Stopping::steps:
      return "steps";
    case Stopping::seconds:
      return "seconds";
    case Stopping::width:
      return "width";
    case Stopping::too_few:
      return "too few steps";
    case Stopping::not_steady:
      return "not steady";
    case Stopping::too_wide:
      return "too wide";
  }
  return "";
}

bool StoppingRule::add(double step_seconds) {
  step_seconds_.push_back(step_seconds);
  total_seconds_ += step_seconds;
  const auto steps = static_cast<std::int64_t>(step_seconds_.size());
  if (limits_.relative_half_width > 0 && steps >= next_look_) look();
  if (state_ == Stopping::width) return true;
  if (steps >= limits_.max_steps) state_ = Stopping::steps;
  if (total_seconds_ >= limits_.max_seconds) state_ = Stopping::seconds;
  return state_ == Stopping::steps || state_ == Stopping::seconds;
}

void StoppingRule::look() {
  const SteadyState steady = find_steady_state(step_seconds_);
  const auto kept = std::span(step_seconds_).subspan(static_cast<std::size_t>(steady.unsteady_steps));
  next_look_ += next_look_ / 4;
  if (!steady.steady) {
    state_ = Stopping::not_steady;
  } else if (static_cast<std::int64_t>(kept.size()) < kFirstLook) {
    state_ = Stopping::too_few;
  } else {
    relative_half_width_ = mean_interval(kept).half_width() / mean(kept);
    state_ = relative_half_width_ <= limits_.relative_half_width ? Stopping::width : Stopping::too_wide;
  }
}

}  // namespace trainyard::record
