#pragma once

#include "plan/step_plan.h"

namespace trainyard::engine {

// A stretch is a range of a flat array, in elements.
struct Stretch {
  std::int64_t first = 0, elements = 0;

  std::int64_t end() const { return first + elements; }
  bool operator==(const Stretch&) const = default;
};

// The schedule says when each part of the gradients' region has its final content. It is made once for a
// plan; every float of the region, gaps between tensors included, is in exactly one stretch.
class GradientSchedule {
 public:
  explicit GradientSchedule(const plan::CompiledStep& step);

  // Returns the stretches that this kernel was the last to write, without the update.
  std::span<const Stretch> after(std::size_t step) const { return after_[step]; }
  // Returns whether every parameter that is trained has a stored gradient.
  bool complete() const { return complete_; }

 private:
  std::vector<std::vector<Stretch>> after_;  // by step
  bool complete_ = false;
};

}  // namespace trainyard::engine
