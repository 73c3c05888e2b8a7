#include "report/number_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace trainyard::report {
namespace {

TEST(NumberText, KeepsThreeFiguresAndGroupsThousands) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.04561), "0.0456");
  EXPECT_EQ(number_text(5), "5");
  EXPECT_EQ(number_text(12.345), "12.3");
  EXPECT_EQ(number_text(345.67), "345.7");
  EXPECT_EQ(number_text(999.96), "1,000");
  EXPECT_EQ(number_text(1234567.8), "1,234,568");
  EXPECT_EQ(number_text(-12345), "-12,345");
  EXPECT_EQ(number_text(NAN), "-");
}

TEST(NumberText, CountsAndSharesReadAsWords) {
  EXPECT_EQ(count_text(1, "run"), "1 run");
  EXPECT_EQ(count_text(500, "run"), "500 runs");
  EXPECT_EQ(count_text(12000, "step"), "12,000 steps");
  EXPECT_EQ(percent_text(0.0123), "1.23 %");
  EXPECT_EQ(percent_text(0.361), "36.1 %");
  EXPECT_EQ(time_text(0), "1970-01-01 00:00");
}

}  // namespace
}  // namespace trainyard::report
