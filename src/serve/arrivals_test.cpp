#include "serve/arrivals.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::serve {
namespace {

TEST(Arrivals, AreWrittenAsAWordAndANumber) {
  EXPECT_EQ(Arrivals::parse("poisson:20.5").rate, 20.5);
  EXPECT_TRUE(Arrivals::parse("poisson:1e3").is_open());
  const Arrivals closed = Arrivals::parse("closed:8");
  EXPECT_FALSE(closed.is_open());
  EXPECT_EQ(closed.clients, 8);
}

TEST(Arrivals, WhatIsNoProcessIsRefused) {
  for (const char* text :
       {"poisson:0", "poisson:-1", "poisson:", "poisson:fast", "poisson:1e10", "poisson:nan", "poisson:5x",
        "closed:0", "closed:2.5", "closed:", "closed:-3", "uniform:3", ""})
    EXPECT_THROW(Arrivals::parse(text), Error) << text;
}

// The gaps of a Poisson process of rate r have mean 1/r and standard deviation 1/r, and few are long.
TEST(PoissonTimes, HaveExponentialGaps) {
  constexpr double kRate = 40;
  constexpr int kTimes = 20'000;
  PoissonTimes times(kRate, 3);
  double last = 0, sum = 0, squares = 0;
  int long_gaps = 0;
  for (int i = 0; i < kTimes; ++i) {
    const double time = times.next(), gap = time - last;
    ASSERT_GT(gap, 0);
    sum += gap;
    squares += gap * gap;
    if (gap > 2 / kRate) ++long_gaps;
    last = time;
  }
  const double mean = sum / kTimes, variance = squares / kTimes - mean * mean;
  EXPECT_NEAR(mean * kRate, 1, 0.03);
  EXPECT_NEAR(std::sqrt(variance) * kRate, 1, 0.04);
  EXPECT_NEAR(static_cast<double>(long_gaps) / kTimes, std::exp(-2.0), 0.01);
}

TEST(PoissonTimes, AreThoseOfTheirSeed) {
  PoissonTimes a(10, 1), again(10, 1), other(10, 2), twice_as_fast(20, 1);
  const double first = a.next();
  EXPECT_EQ(again.next(), first);
  EXPECT_NE(other.next(), first);
  EXPECT_DOUBLE_EQ(twice_as_fast.next(), first / 2);
}

}  // namespace
}  // namespace trainyard::serve
