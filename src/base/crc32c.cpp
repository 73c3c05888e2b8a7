#include "base/crc32c.h"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace trainyard {
namespace {

#ifdef __SSE4_2__

std::uint64_t advance(std::uint64_t crc, std::uint64_t word) { return _mm_crc32_u64(crc, word); }

std::uint64_t advance(std::uint64_t crc, unsigned char byte) {
  return _mm_crc32_u8(static_cast<std::uint32_t>(crc), byte);
}

#else

// Slicing by eight: table k advances a byte that stands k places before the end of the word.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
  return tables;
}();

std::uint64_t advance(std::uint64_t crc, std::uint64_t word) {
  word ^= crc;
  crc = 0;
  for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  return crc;
}

std::uint64_t advance(std::uint64_t crc, unsigned char byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xFF];
}

#endif

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t crc = ~previous;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    crc = advance(crc, word);
  }
  for (; bytes > 0; --bytes, ++p) crc = advance(crc, *p);
  return ~static_cast<std::uint32_t>(crc);
}

}  // namespace trainyard
