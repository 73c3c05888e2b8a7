#pragma once

#include "ps/server/shard.h"

namespace trainyard::ps {

// Adds gradients: parameters are then the sum of all that was ever applied. With a slot, which counts
// updates.
class Adder final : public Updater {
 public:
  explicit Adder(int slots = 0) : slots_(slots) {}

  void apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
             int) override {
    for (std::size_t i = 0; i < gradient.size(); ++i) to.parameters[i] = from.parameters[i] + gradient[i];
    for (std::size_t i = 0; i < to.slots.size(); ++i) to.slots[i] = from.slots[i] + 1;
    last_step = step;
  }
  float rate(std::int64_t) const override { return -1; }
  int slots() const override { return slots_; }

  std::int64_t last_step = -1;

 private:
  int slots_;
};

}  // namespace trainyard::ps
