#pragma once

#include <span>

#include "tensor/bfloat16.h"

// Numbers of 16 bits on the wire, of 32 in memory.
namespace trainyard::ps {

inline void round_numbers(std::span<const float> from, std::span<BFloat16> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = BFloat16(from[i]);
}

inline void widen_numbers(std::span<const BFloat16> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace trainyard::ps
