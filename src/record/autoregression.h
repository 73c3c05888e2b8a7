#pragma once

#include <array>
#include <span>
#include <vector>

namespace trainyard::record {

// Sums of products at distance 0..max_lag, over n. The series is taken as centred on zero.
void autocovariances(std::span<const double> centred, std::span<double> by_lag);

// Of the first lag, about the samples' mean; 0 for constant or fewer than three samples.
double lag1_autocorrelation(std::span<const double> samples);

// x[t] = sum of coefficient[k] * x[t - 1 - k] + innovation: what one step of a centred series tells about the
// next ones.
class Autoregression {
 public:
  static constexpr int kMaxOrder = 8;

  // Yule-Walker. For order one Kendall's bias of the coefficient, (1 + 3 r) / n, is taken back; the sum of
  // the coefficients stays below 0.97, so that the gain is finite.
  static Autoregression fit(std::span<const double> centred, int order);

  // The order from one up that Akaike's criterion, corrected for few samples, prefers.
  static int choose_order(std::span<const double> centred);

  int order() const { return order_; }

  // What a lasting innovation of one changes the level by.
  double gain() const;

  // Of every step that has `order` ones before it: n - order values.
  void innovations(std::span<const double> centred, std::span<double> result) const;

  // The series from its innovations: reads series[0..order), writes the rest.
  double next(const double* end_of_past, double innovation) const {
    double value = innovation;
    for (int k = 0; k < order_; ++k) value += coefficients_[k] * end_of_past[-1 - k];
    return value;
  }

 private:
  int order_ = 0;
  std::array<double, kMaxOrder> coefficients_{};
};

}  // namespace trainyard::record
