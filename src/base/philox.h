#pragma once

#include <array>
#include <cstdint>

namespace trainyard {

// Philox4x32-10 (Salmon et al., SC'11) is a counter-based generator. The same (key, counter) gives the same
// four words on every backend, for any number of threads, after any resume. Its functions are constexpr
// because devices call them, too.
class Philox {
 public:
  using Block = std::array<std::uint32_t, 4>;

  // `stream` separates uses of one seed: a parameter, a dropout node, the sample order.
  constexpr Philox(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  constexpr Block block(std::uint64_t index) const {
    std::uint32_t key0 = static_cast<std::uint32_t>(seed_), key1 = static_cast<std::uint32_t>(seed_ >> 32);
    Block c{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
            static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(p0)};
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return c;
  }

  constexpr std::uint32_t word(std::uint64_t index) const { return block(index / 4)[index % 4]; }

 private:
  std::uint64_t seed_, stream_;
};

// Returns a number in [0, 1) with 24 bits, which f32 represents exactly.
constexpr float to_unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// Combines two stream numbers into one (splitmix64 finaliser), so that (step, node) pairs do not collide.
constexpr std::uint64_t mix_streams(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15ull + b + 0x632BE59BD9B4E019ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Returns the stream number of a name (FNV-1a), for parameters.
constexpr std::uint64_t stream_of(const char* name) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001B3ull;
  return hash;
}

}  // namespace trainyard
