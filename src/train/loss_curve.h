#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::train {

// How the loss fell over time, in a bounded number of points: when there are too many, neighbours are merged.
class LossCurve {
 public:
  static constexpr std::size_t kMostPoints = 1000;

  struct Point {
    double seconds = 0;  // since the first step of this run began, until the last gradient of the point
    std::int64_t gradients = 0;  // made by all workers in that time
    double loss = 0;             // mean over the gradients of this point

    bool operator==(const Point&) const = default;
  };

  LossCurve() { points_.reserve(kMostPoints); }

  // So many more gradients, of this mean loss; `seconds` as in Point, never less than before.
  void add(double seconds, std::int64_t gradients, double loss);
  // Of all that was added; the last may be of fewer gradients than the others.
  const std::vector<Point>& points() const { return points_; }

 private:
  void merge_neighbours();

  std::vector<Point> points_;
  std::int64_t per_point_ = 1;    // calls of add()
  std::int64_t in_last_ = 0;      // the same, so far
  std::int64_t before_last_ = 0;  // gradients before the last point
};

// True when the last losses of a run, the first one of all not among them, are in the median more than a
// thousand times the first, or a thousand where that is below one: what was learnt is lost, though each is a
// number. A network that says one class with certainty has no loss at all on a batch that happens to be of
// it, so that single low losses do not count. A loss that jumps and comes back before the end is none.
bool has_diverged(double first_loss, std::span<const double> last_losses);

}  // namespace trainyard::train
