#include "meter/cpu.h"

#include <gtest/gtest.h>

namespace trainyard::meter {
namespace {

const std::vector<int> kTwo{0, 1}, kOne{0};

TEST(CheckCores, FindsNothingWhereTheRunHadWhatItAskedFor) {
  EXPECT_TRUE(check_cores(2, kTwo, 2.1, std::nullopt).empty());
  EXPECT_TRUE(check_cores(2, kTwo, 0.3, 2.0).empty()) << "using less is no fault";
}

// The "1-core" job of PSC's benchmarks used 27.8 (specs/benchmarking.md 4.3).
TEST(CheckCores, FlagsMoreCoresThanWereAskedFor) {
  const auto found = check_cores(1, kOne, 27.8, std::nullopt);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "cores");
  EXPECT_EQ(found[0].text, "1 cores asked for, but 27.80 were used");
}

TEST(CheckCores, FlagsOtherCoresAndTooSmallAQuota) {
  const auto found = check_cores(1, kTwo, 0.5, 0.5);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "1 cores asked for, but threads may run on 2");
  EXPECT_EQ(found[1].text, "1 cores asked for, but the control group grants 0.50");
}

}  // namespace
}  // namespace trainyard::meter
