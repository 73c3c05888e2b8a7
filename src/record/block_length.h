#pragma once

#include <cstdint>
#include <span>

namespace trainyard::record {

// Length of the blocks in which a series with autocorrelation should be resampled: Politis & White (2004),
// corrected by Patton, Politis & White (2009), for circular blocks; at least the cube root of n, in case
// dependence is there that correlation does not show. REQUIRES: a series centred on zero.
std::int64_t block_length(std::span<const double> centred);

}  // namespace trainyard::record
