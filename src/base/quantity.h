#pragma once

#include "base/standard.h"

// Quantities as people write them: a number with its unit, "512MiB" or "15m".
namespace trainyard {

// Returns the number in the smallest unit; nothing for other text, an unknown unit, less than `least` or more
// than 1e15.
std::optional<double> number_with_unit(const std::string& given,
                                       const std::vector<std::pair<std::string, double>>& units,
                                       double least);

// Reads bytes: 100000, 512MiB, 2GiB; MB and GB are thousands of thousands. Nothing for other text, and below
// one byte.
std::optional<std::int64_t> parse_bytes(const std::string& given);
inline constexpr const char* kBytesExample = "512MiB or 2GiB";

}  // namespace trainyard
