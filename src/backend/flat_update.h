#pragma once

#include "ops/update.h"

namespace trainyard::backend {

// FlatUpdate is the rule of an optimizer over flat arrays of f32, element by element: cut into any ranges, by
// any threads, the bits are the same. Allocates nothing after it is made.
class FlatUpdate {
 public:
  static constexpr std::size_t kMaxSlots = 3;

  // Arrays holds the arrays that an update reads and writes; the slots are in the order of ops::slot_names. A
  // new array may be the old one itself, and may not overlap it otherwise.
  struct Arrays {
    const float *parameters = nullptr, *gradient = nullptr;
    std::array<const float*, kMaxSlots> slots{};
    float* new_parameters = nullptr;
    std::array<float*, kMaxSlots> new_slots{};
  };
  static Arrays in_place(float* parameters, const float* gradient,
                         const std::array<float*, kMaxSlots>& slots = {});

  // Rates holds the numbers that all elements of one step share.
  struct Rates {
    float rate, momentum, decay, beta1, beta2, epsilon, weight_decay, shrink, correction1, correction2, ema,
        gradient_factor;
  };
  using Loop = void (*)(const Arrays&, const Rates&, std::int64_t begin, std::int64_t end);

  // All of a process run the same loop, so that updates by a server and by a worker have the same bits.
  explicit FlatUpdate(const ops::UpdateAttrs& attrs);

  int slots() const { return slots_; }
  // Says what is not the same for all parameters and steps: whether the weight decay counts, and the factor
  // of the gradient, which the caller knows where attrs.clip_norm > 0.
  struct Share {
    bool decays = true;
    float gradient_factor = 1;
  };
  // Updates the elements [begin, end) of all arrays in the caller's thread. `step` counts updates from 0.
  void apply(const Arrays& arrays, std::int64_t begin, std::int64_t end, std::int64_t step,
             const Share& share) const;
  void apply(const Arrays& arrays, std::int64_t begin, std::int64_t end, std::int64_t step) const {
    apply(arrays, begin, end, step, Share());
  }

 private:
  Rates rates_at(std::int64_t step, const Share& share) const;

  ops::UpdateAttrs attrs_;
  int slots_;
  Loop loop_;
};

// Returns the loop of a rule, as this source file was compiled: each KernelLevel has its own.
FlatUpdate::Loop flat_update_loop(const ops::UpdateAttrs& attrs);

}  // namespace trainyard::backend
