#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ps/wire/messages.h"

// The workers of a fault run compute whole numbers. Their sum is exact in any order, and it is right only if
// it contains every batch once.
namespace trainyard::net_test {

inline constexpr std::int64_t kElements = 3000;
inline std::vector<ps::Key> problem_keys(int servers) { return ps::make_keys(kElements, servers, 1 << 10); }

// Elements that every gradient moves by one. Keys begin with one of them.
inline bool counts_gradients(std::int64_t element) { return element % 16 == 0; }

inline float gradient_of(std::int64_t batch, std::int64_t element) {
  if (counts_gradients(element)) return 1;
  const auto mixed = static_cast<std::uint64_t>(batch + 1) * 0x9E3779B97F4A7C15ull ^
                     static_cast<std::uint64_t>(element) * 0xBF58476D1CE4E5B9ull;
  return static_cast<float>((mixed ^ mixed >> 29) * 0x94D049BB133111EBull >> 61);
}

// Returns how many gradients are in each server's part of the parameters. Error (internal) when a part has
// half of one.
std::vector<std::int64_t> gradients_in(std::span<const float> parameters, const std::vector<ps::Key>& keys,
                                       int servers);

}  // namespace trainyard::net_test
