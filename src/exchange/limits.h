#pragma once

#include <cstdint>

// What a file may ask of the memory and of 64-bit numbers, whatever it says.
namespace trainyard::exchange {

inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 31;  // protobuf's own limit
inline constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 29;  // of a file that is text
inline constexpr std::int64_t kMaxNodes = 1'000'000;
// Names, shapes, dimensions, numbers of attributes, all together; a long name counts as several.
inline constexpr std::int64_t kMaxItems = 8'000'000;
inline constexpr std::int64_t kNameBytes = 32;
inline constexpr int kMaxDepth = 64;  // of messages within messages
inline constexpr int kMaxRank = 32;
// Of a tensor: a product of two such counts, twice, is still a 64-bit number.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;
// Of a graph: a training step, three times as much, is still a 64-bit number.
inline constexpr std::int64_t kMaxFlops = std::int64_t{1} << 60;
// Of a window's kernel, stride, dilation and padding.
inline constexpr std::int64_t kMaxWindow = 1 << 16;

}  // namespace trainyard::exchange
