#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace trainyard::study {

// Which value of each axis.
using GridPoint = std::vector<std::size_t>;

// All points of axes with so many values, the last axis fastest.
std::vector<GridPoint> whole_grid(const std::vector<std::size_t>& sizes);

// So many different points that `accept` takes, in the order of whole_grid: corners, where every axis has its
// first or last value, for at most half of them (which ones, when there are more, the seed says), and a Latin
// hypercube for the rest: along every axis they lie as evenly as can be. All points there are when those are
// fewer. The same for the same arguments.
std::vector<GridPoint> sample_grid(const std::vector<std::size_t>& sizes, std::int64_t points,
                                   std::uint64_t seed, const std::function<bool(const GridPoint&)>& accept);

}  // namespace trainyard::study
