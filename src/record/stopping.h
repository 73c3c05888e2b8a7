#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard::record {

struct StoppingLimits {
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  double max_seconds = std::numeric_limits<double>::infinity();  // of the steps together
  double relative_half_width = 0;  // of the mean's 95 % interval; 0: its width never ends the run
};

enum class Stopping {
  steps,       // stop: max_steps
  seconds,     // stop: max_seconds
  width,       // stop: the interval is narrow enough
  too_few,     // go on: too few steps to judge
  not_steady,  // go on: no steady state yet
  too_wide,    // go on: the interval is too wide
};

const char* name(Stopping state);

// Tells after every step whether to time another one. The interval is looked at on a growing schedule, each
// time after a quarter more steps: a step costs some microseconds on average, and few looks keep the chance
// small that one of them is narrow by luck.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingLimits& limits) : limits_(limits) {}

  // True: stop, and state() says why.
  bool add(double step_seconds);

  Stopping state() const { return state_; }

  // Of the last look at the interval; infinity before the first.
  double relative_half_width() const { return relative_half_width_; }

 private:
  static constexpr std::int64_t kFirstLook = 20;

  void look();

  StoppingLimits limits_;
  std::vector<double> step_seconds_;
  double total_seconds_ = 0;
  std::int64_t next_look_ = kFirstLook;
  double relative_half_width_ = std::numeric_limits<double>::infinity();
  Stopping state_ = Stopping::too_few;
};

}  // namespace trainyard::record
