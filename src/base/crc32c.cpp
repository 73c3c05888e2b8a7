#include "base/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace trainyard {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // its bits in reverse

constexpr std::array<std::uint32_t, 256> make_byte_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? kPolynomial : 0);
    table[byte] = state;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kByteTable = make_byte_table();

std::uint32_t add_bytes(std::uint32_t state, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    state = state >> 8 ^ kByteTable[(state ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return state;
}

#if defined(__x86_64__)

// Three streams at once hide the instruction's latency; each is so many bytes long before they are joined.
constexpr std::size_t kStream = 4096;

// The effect of kStream zero bytes on a checksum state, tabulated for each of its four bytes; the map is
// linear.
using ZerosTable = std::array<std::array<std::uint32_t, 256>, 4>;

ZerosTable make_zeros_table() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < of_bit.size(); ++bit) {
    std::uint32_t state = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kStream; ++i) state = state >> 8 ^ kByteTable[state & 0xFF];
    of_bit[bit] = state;
  }
  ZerosTable table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte)
    for (std::size_t value = 0; value < 256; ++value)
      for (std::size_t bit = 0; bit < 8; ++bit)
        if ((value >> bit & 1) != 0) table[byte][value] ^= of_bit[8 * byte + bit];
  return table;
}

std::uint32_t behind_zeros(std::uint32_t state) {
  static const ZerosTable table = make_zeros_table();
  return table[0][state & 0xFF] ^ table[1][state >> 8 & 0xFF] ^ table[2][state >> 16 & 0xFF] ^
         table[3][state >> 24];
}

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t add_words(std::uint32_t state,
                                                          std::span<const std::byte> bytes) {
  const std::byte *at = bytes.data(), *end = at + bytes.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(3 * kStream); at += 3 * kStream) {
    std::uint64_t a = state, b = 0, c = 0;
    for (const std::byte* word = at; word != at + kStream; word += 8) {
      a = _mm_crc32_u64(a, word_at(word));
      b = _mm_crc32_u64(b, word_at(word + kStream));
      c = _mm_crc32_u64(c, word_at(word + 2 * kStream));
    }
    const std::uint32_t first_two =
        behind_zeros(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
    state = behind_zeros(first_two) ^ static_cast<std::uint32_t>(c);
  }
  std::uint64_t wide = state;
  for (; end - at >= 8; at += 8) wide = _mm_crc32_u64(wide, word_at(at));
  return add_bytes(static_cast<std::uint32_t>(wide), {at, end});
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~add_words(~previous, bytes);
#endif
  return crc32c_by_table(bytes, previous);
}

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t previous) {
  return ~add_bytes(~previous, bytes);
}

}  // namespace trainyard
