#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainyard::comm::transport {

// The checksum of iSCSI (Castagnoli's polynomial). Of two parts one after the other: crc32c(b, crc32c(a)).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// Computes the same without the processor's own instruction.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace trainyard::comm::transport
