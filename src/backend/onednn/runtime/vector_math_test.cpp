#include "backend/onednn/runtime/vector_math.h"

#include <gtest/gtest.h>

namespace trainyard::backend::onednn {
namespace {

TEST(VectorMath, ExponentialIsWithinTwoUnitsOfTheLastPlace) {
  double worst = 0;
  for (double x = -87.2; x < 88; x += 1.0 / 1024) {
    const double exact = std::exp(static_cast<double>(static_cast<float>(x)));
    worst = std::max(worst, std::abs(static_cast<double>(vector_exp(static_cast<float>(x))) - exact) / exact);
  }
  EXPECT_LT(worst, 2.4e-7);
  EXPECT_EQ(vector_exp(0), 1.0f);
}

TEST(VectorMath, GatesAreAccurate) {
  double logistic = 0, tangent = 0;
  for (double x = -20; x < 20; x += 1.0 / 1024) {
    const auto at = static_cast<float>(x);
    const double exact = std::tanh(static_cast<double>(at));
    logistic = std::max(logistic, std::abs(static_cast<double>(vector_logistic(at)) -
                                           1 / (1 + std::exp(-static_cast<double>(at)))));
    // Relative: small numbers keep their bits.
    if (exact != 0)
      tangent = std::max(tangent, std::abs((static_cast<double>(vector_tanh(at)) - exact) / exact));
  }
  EXPECT_LT(logistic, 1e-6);
  EXPECT_LT(tangent, 1e-6);
}

TEST(VectorMath, NormalDistributionIsAccurateInItsTailToo) {
  double worst = 0, worst_of_tail = 0;
  for (double x = -10; x < 10; x += 1.0 / 1024) {
    const auto at = static_cast<float>(x);
    const double exact = 0.5 * std::erfc(-static_cast<double>(at) / std::sqrt(2.0));
    const double error = std::abs(static_cast<double>(vector_normal(at)) - exact);
    worst = std::max(worst, error);
    worst_of_tail = std::max(worst_of_tail, error / exact);
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_LT(worst_of_tail, 2e-5);  // the exponent, up to 50, is rounded
}

TEST(VectorMath, FarOutAndNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(vector_tanh(infinity), 1.0f);
  EXPECT_EQ(vector_tanh(-infinity), -1.0f);
  EXPECT_EQ(vector_logistic(infinity), 1.0f);
  EXPECT_LT(vector_logistic(-infinity), 1e-37f);
  for (const auto function : {vector_exp, vector_logistic, vector_tanh, vector_normal})
    EXPECT_TRUE(std::isnan(function(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace trainyard::backend::onednn
