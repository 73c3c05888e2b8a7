#pragma once

#include <cstdint>

#include "base/philox.h"

namespace trainyard {

// Returns the position of the first sample of a step: worker w of W takes every W-th batch of one common
// order.
constexpr std::int64_t first_position(std::int64_t step, std::int64_t batch, std::int64_t worker,
                                      std::int64_t workers) {
  return (step * workers + worker) * batch;
}

// The order says which sample stands at position p = step * batch + i of a run. Each epoch (`size` positions)
// is a fresh permutation that depends on (seed, epoch) alone. Each index is computed without a table: any
// position of any epoch costs the same, so resuming and sharing among workers need no state, and a GPU can
// compute it. Thread-safe.
class SampleOrder {
 public:
  SampleOrder(std::uint64_t seed, std::int64_t size);

  constexpr std::int64_t index(std::int64_t position) const {
    const auto epoch = static_cast<std::uint64_t>(position / size_);
    const Philox keys(seed_, kStream);
    const Philox::Block first = keys.block(2 * epoch), second = keys.block(2 * epoch + 1);
    const std::uint32_t key[kRounds] = {first[0], first[1], first[2], first[3], second[0], second[1]};
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    auto value = static_cast<std::uint64_t>(position % size_);
    do {
      std::uint64_t left = value >> half_bits_, right = value & mask;
      for (const std::uint32_t round_key : key) {
        const std::uint64_t mixed = left ^ (scramble(static_cast<std::uint32_t>(right) ^ round_key) & mask);
        left = right;
        right = mixed;
      }
      value = left << half_bits_ | right;
    } while (value >= static_cast<std::uint64_t>(size_));
    return static_cast<std::int64_t>(value);
  }

  constexpr std::uint64_t seed() const { return seed_; }
  constexpr std::int64_t size() const { return size_; }

 private:
  // A Feistel network permutes 0 .. 2^(2h) - 1 whatever its round function is; walking its cycle until the
  // value is below `size` makes that a permutation of 0 .. size - 1 (Black and Rogaway, 2002).
  static constexpr int kRounds = 6;
  static constexpr int kMinHalfBits =
      5;  // tiny sets: the fewer the bits, the fewer permutations rounds reach
  static constexpr std::uint64_t kStream = stream_of("sample order");

  static constexpr std::uint32_t scramble(std::uint32_t x) {  // the finaliser of MurmurHash3
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
  }

  std::uint64_t seed_;
  std::int64_t size_;
  int half_bits_;
};

}  // namespace trainyard
