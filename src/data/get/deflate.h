#pragma once

#include <span>

#include "base/standard.h"

namespace trainyard::data {

// Compresses by deflate, as well as it can.
std::vector<std::byte> deflated(std::span<const std::byte> bytes);

// Returns what `stream` holds. Throws std::invalid_argument for a stream that is damaged, cut short, followed
// by other bytes, or that holds more than `most` bytes. Memory grows with what the stream holds.
std::vector<std::byte> inflated(std::span<const std::byte> stream, std::size_t most);

}  // namespace trainyard::data
