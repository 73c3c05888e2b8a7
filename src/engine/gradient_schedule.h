#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/step_plan.h"

namespace trainyard::engine {

// Of a flat array, in elements.
struct Stretch {
  std::int64_t first = 0, elements = 0;

  std::int64_t end() const { return first + elements; }
  bool operator==(const Stretch&) const = default;
};

// When each part of the gradients' region is as it will be. Made once for a plan; every float of the region,
// what lies between tensors too, is in exactly one stretch.
class GradientSchedule {
 public:
  explicit GradientSchedule(const plan::CompiledStep& step);

  // What this kernel was the last to write, the update left out.
  std::span<const Stretch> after(std::size_t step) const { return after_[step]; }
  // Whether every parameter has a gradient that is stored.
  bool complete() const { return complete_; }

 private:
  std::vector<std::vector<Stretch>> after_;  // by step
  bool complete_ = false;
};

}  // namespace trainyard::engine
