#pragma once

#include "base/standard.h"

namespace trainyard {

std::string format_bytes(std::int64_t bytes);  // "12.3 MiB"
std::string format_count(double count);        // "3.27 M"
std::string format_seconds(double seconds);    // "41.2 ms"
std::string format_flops(double flops);        // "8.17 GFLOP"
std::string format_rate(double per_second);    // "166 GFLOP/s"

}  // namespace trainyard
