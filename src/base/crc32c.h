#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard {

// CRC-32C (Castagnoli). Continue a running sum by passing the previous result.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous = 0);

}  // namespace trainyard
