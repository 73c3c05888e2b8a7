#include "study/sample.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/philox.h"
#include "study/shuffle.h"

namespace trainyard::study {
namespace {

constexpr std::uint64_t kCornerStream = 1, kFirstRound = 2;
constexpr std::size_t kMostCornerAxes = 16;  // with more axes corners are too many to be listed
constexpr int kRounds = 200;                 // beyond them what is left is hardly any

std::vector<GridPoint> corners_of(const std::vector<std::size_t>& sizes) {
  if (sizes.size() > kMostCornerAxes) return {};
  std::vector<std::size_t> ends;
  for (const std::size_t size : sizes) ends.push_back(std::min<std::size_t>(size, 2));
  std::vector<GridPoint> corners = whole_grid(ends);
  for (GridPoint& corner : corners)
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (corner[axis] == 1) corner[axis] = sizes[axis] - 1;
  return corners;
}

// `count` points; along each axis one in every count-th part of its length, paired at random.
std::vector<GridPoint> latin_hypercube(const std::vector<std::size_t>& sizes, std::size_t count,
                                       std::uint64_t seed, std::uint64_t round) {
  std::vector<GridPoint> points(count, GridPoint(sizes.size()));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::uint64_t stream = round * 64 + axis;
    std::vector<std::size_t> part(count);
    std::iota(part.begin(), part.end(), std::size_t{0});
    shuffle(part.begin(), part.end(), seed, stream);
    for (std::size_t i = 0; i < count; ++i) {
      // Somewhere inside its part, so that no value of the axis is preferred by rounding.
      const double inside = static_cast<double>(Philox(seed, ~stream).word(i) % 1024) / 1024;
      const double place = (static_cast<double>(part[i]) + inside) / static_cast<double>(count);
      points[i][axis] =
          std::min(static_cast<std::size_t>(place * static_cast<double>(sizes[axis])), sizes[axis] - 1);
    }
  }
  return points;
}

}  // namespace

std::vector<GridPoint> whole_grid(const std::vector<std::size_t>& sizes) {
  std::vector<GridPoint> points{{}};
  for (const std::size_t size : sizes) {
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points)
      for (std::size_t value = 0; value < size; ++value) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<GridPoint> sample_grid(const std::vector<std::size_t>& sizes, std::int64_t points,
                                   std::uint64_t seed, const std::function<bool(const GridPoint&)>& accept) {
  const auto wanted = static_cast<std::size_t>(points);
  std::set<GridPoint> chosen, refused;
  const auto consider = [&](const std::vector<GridPoint>& candidates, std::size_t most) {
    for (const GridPoint& point : candidates) {
      if (chosen.size() >= most) return;
      if (chosen.contains(point) || refused.contains(point)) continue;
      (accept(point) ? chosen : refused).insert(point);
    }
  };
  std::vector<GridPoint> corners = corners_of(sizes);
  shuffle(corners.begin(), corners.end(), seed, kCornerStream);
  consider(corners, (wanted + 1) / 2);
  // Those that met a point already there are drawn again, fewer and fewer.
  for (int round = 0; round < kRounds && chosen.size() < wanted; ++round)
    consider(
        latin_hypercube(sizes, wanted - chosen.size(), seed, kFirstRound + static_cast<std::uint64_t>(round)),
        wanted);
  const double all = std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double product, std::size_t size) {
    return product * static_cast<double>(size);
  });
  constexpr double kFewEnough = 1e6;
  if (chosen.size() < wanted && all <= kFewEnough) consider(whole_grid(sizes), wanted);
  return {chosen.begin(), chosen.end()};
}

}  // namespace trainyard::study
