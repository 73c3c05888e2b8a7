#pragma once

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Division of numbers below 2^31 by one that is known before the launch: a product and a shift (Granlund and
// Montgomery, PLDI'94).
struct Divisor {
  constexpr Divisor() : Divisor(1) {}
  constexpr explicit Divisor(std::uint32_t by) : divisor(by) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    multiplier =
        static_cast<std::uint32_t>(((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by + 1);
  }
  constexpr std::uint32_t quotient(std::uint32_t n) const {
    return (static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * multiplier >> 32) + n) >> shift;
  }
  constexpr std::uint32_t rest(std::uint32_t n) const { return n - quotient(n) * divisor; }

  std::uint32_t divisor, multiplier = 0, shift = 0;
};

// Element i of a box, counted in some order of its axes, lies at offset(i).
struct Walk {
  struct Axis {
    Divisor length;
    std::int64_t stride = 0;  // in elements
  };
  static constexpr int kMaxRank = 6;

  // Axes are given from the outermost to the innermost; those that lie as one are joined.
  constexpr void append(std::int64_t length, std::int64_t stride) {
    if (length == 1) return;
    if (rank > 0 && axes[rank - 1].stride == length * stride)
      axes[rank - 1] = {Divisor(static_cast<std::uint32_t>(axes[rank - 1].length.divisor * length)), stride};
    else
      axes[rank++] = {Divisor(static_cast<std::uint32_t>(length)), stride};
  }
  constexpr bool is_dense() const { return rank == 0 || (rank == 1 && axes[0].stride == 1); }
  constexpr std::int64_t offset(std::uint32_t i) const {
    std::int64_t at = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::uint32_t outer = axes[axis].length.quotient(i);
      at += static_cast<std::int64_t>(i - outer * axes[axis].length.divisor) * axes[axis].stride;
      i = outer;
    }
    return at;
  }

  Axis axes[kMaxRank];
  int rank = 0;
};

}  // namespace trainyard::backend::cuda::device
