#include "record/student_t.h"

#include <cmath>
#include <initializer_list>

namespace trainyard::record {
namespace {

// Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kClose = 1e-15;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      step = c * d;
      value *= step;
    }
    if (std::abs(step - 1) < kClose) break;
  }
  return value;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  // The fraction converges fast below the mean of the distribution; the other side is its mirror image.
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(x, a, b) / a;
  return 1 - std::exp(log_front) * beta_fraction(1 - x, b, a) / b;
}

}  // namespace

double two_sided_p(double t, double freedom) {
  if (std::isinf(t)) return 0;
  if (freedom > 1e7) return std::erfc(std::abs(t) / std::sqrt(2.0));
  return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double t_quantile(double probability, double freedom) {
  if (probability == 0.5) return 0;
  if (probability < 0.5) return -t_quantile(1 - probability, freedom);
  const double tail = 2 * (1 - probability);
  double low = 0, high = 1;
  while (two_sided_p(high, freedom) > tail && high < 1e300) high *= 2;
  while (high - low > 1e-13 * high) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (two_sided_p(middle, freedom) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double f_tail(double ratio, double numerator_freedom, double denominator_freedom) {
  if (std::isinf(ratio)) return 0;
  return incomplete_beta(denominator_freedom / (denominator_freedom + numerator_freedom * ratio),
                         denominator_freedom / 2, numerator_freedom / 2);
}

}  // namespace trainyard::record
