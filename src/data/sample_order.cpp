#include "data/sample_order.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::data {
namespace {

// A Feistel network permutes 0 .. 2^(2h) - 1 whatever its round function is; walking its cycle until the
// value is below `size` makes that a permutation of 0 .. size - 1 (Black and Rogaway, 2002).
constexpr int kRounds = 6;
constexpr int kMinHalfBits = 5;  // tiny sets: the fewer the bits, the fewer permutations the rounds can reach

std::uint32_t scramble(std::uint32_t x) {  // the finaliser of MurmurHash3
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

}  // namespace

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t size) : seed_(seed), size_(size) {
  TRAINYARD_CHECK(size > 0);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  half_bits_ = std::max((bits + 1) / 2, kMinHalfBits);
}

std::int64_t SampleOrder::index(std::int64_t position) const {
  static const std::uint64_t kStream = stream_of("sample order");
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

}  // namespace trainyard::data
