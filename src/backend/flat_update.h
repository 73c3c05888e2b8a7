#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/update.h"

namespace trainyard::backend {

// The rule of an optimizer over flat arrays of f32, element by element: cut into any ranges, by any threads,
// the bits are the same. Allocates nothing after it is made.
class FlatUpdate {
 public:
  static constexpr std::size_t kMaxSlots = 3;

  // The arrays that an update reads and writes; the slots are in the order of ops::slot_names. A new array
  // may be the old one itself, and may not overlap it otherwise.
  struct Arrays {
    const float *parameters = nullptr, *gradient = nullptr;
    std::array<const float*, kMaxSlots> slots{};
    float* new_parameters = nullptr;
    std::array<float*, kMaxSlots> new_slots{};
  };
  static Arrays in_place(float* parameters, const float* gradient,
                         const std::array<float*, kMaxSlots>& slots = {});

  explicit FlatUpdate(const ops::UpdateAttrs& attrs);

  int slots() const { return slots_; }
  // Updates the elements [begin, end) of all arrays in the caller's thread. `step` counts updates from 0.
  void apply(const Arrays& arrays, std::int64_t begin, std::int64_t end, std::int64_t step) const;

 private:
  struct Rates;
  template <ops::Rule rule, bool nesterov, bool ema>
  static void update(const Arrays& arrays, const Rates& rates, std::int64_t begin, std::int64_t end);
  template <bool ema>
  static auto pick(const ops::UpdateAttrs& attrs);
  Rates rates_at(std::int64_t step) const;

  ops::UpdateAttrs attrs_;
  int slots_;
  void (*update_)(const Arrays&, const Rates&, std::int64_t, std::int64_t);
};

}  // namespace trainyard::backend
