#pragma once

#include <cstdint>
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

  double at(std::int64_t step) const;
  std::string to_string() const;
};

}  // namespace trainyard::ops
