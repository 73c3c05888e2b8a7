#include "train/loss_curve.h"

#include <algorithm>

#include "base/error.h"
#include "record/statistics.h"

namespace trainyard::train {

void LossCurve::add(double seconds, std::int64_t gradients, double loss) {
  TRAINYARD_CHECK(gradients > 0);
  if (points_.empty() || in_last_ == per_point_) {
    if (points_.size() == kMostPoints) merge_neighbours();
    before_last_ = points_.empty() ? 0 : points_.back().gradients;
    points_.push_back({.gradients = before_last_});
    in_last_ = 0;
  }
  Point& last = points_.back();
  const auto weight = static_cast<double>(last.gradients - before_last_),
             more = static_cast<double>(gradients);
  last.loss = (last.loss * weight + loss * more) / (weight + more);
  last.gradients += gradients;
  last.seconds = seconds;
  ++in_last_;
}

void LossCurve::merge_neighbours() {
  std::int64_t before = 0;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    const Point& first = points_[i];
    Point both = points_[i + 1];
    const auto of_first = static_cast<double>(first.gradients - before),
               of_second = static_cast<double>(both.gradients - first.gradients);
    both.loss = (first.loss * of_first + both.loss * of_second) / (of_first + of_second);
    before = both.gradients;
    points_[i / 2] = both;
  }
  points_.resize(points_.size() / 2);  // kMostPoints is even
  per_point_ *= 2;
}

bool has_diverged(double first_loss, std::span<const double> last_losses) {
  constexpr double kFactor = 1000;
  return !last_losses.empty() && record::median(last_losses) > kFactor * std::max(first_loss, 1.0);
}

}  // namespace trainyard::train
