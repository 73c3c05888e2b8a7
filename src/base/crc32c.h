#pragma once

#include "base/standard.h"

namespace trainyard {

// Computes CRC-32C, the checksum of iSCSI (Castagnoli's polynomial). Two parts one after the other have the
// sum crc32c(b, crc32c(a)).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);
inline std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous = 0) {
  return crc32c(std::span(static_cast<const std::byte*>(data), bytes), previous);
}

// Computes the same without the processor's own instruction.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t previous = 0);

}  // namespace trainyard
