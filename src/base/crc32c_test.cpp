#include "base/crc32c.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c("6789", 4, crc32c("12345", 5)), 0xE3069283u);
  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43u);
}

std::vector<std::byte> random_bytes(std::size_t count) {
  const Philox random(5, 1);
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(random.word(i));
  return bytes;
}

TEST(Crc32c, IsTheSameByTable) {
  const std::vector<std::byte> bytes = random_bytes(40'000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t count : {1u, 7u, 8u, 9u, 4095u, 4096u, 12'287u, 12'288u, 12'289u, 30'000u, 40'000u})
    for (const std::size_t first : {0u, 1u, 3u})
      if (first + count <= bytes.size()) {
        const auto part = all.subspan(first, count);
        EXPECT_EQ(crc32c(part), crc32c_by_table(part)) << count << " bytes from " << first;
      }
}

TEST(Crc32c, PartsAddUp) {
  const std::vector<std::byte> bytes = random_bytes(20'000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : {0u, 1u, 13u, 12'288u, 19'999u})
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all)) << cut;
}

}  // namespace
}  // namespace trainyard
