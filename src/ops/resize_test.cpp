#include <gtest/gtest.h>

#include "ops/resize_values.h"

namespace trainyard::ops {
namespace {

// A kernel that looks for the pixels that take something of another looks no further than the reach.
TEST(Resize, ReachHoldsAllThatTakeSomething) {
  for (const ResizePlaces places :
       {ResizePlaces::half_pixel, ResizePlaces::align_corners, ResizePlaces::asymmetric})
    for (std::int64_t from = 1; from < 20; ++from)
      for (std::int64_t to = 1; to < 50; ++to) {
        const ResizeAxis axis{from, to, places};
        for (std::int64_t pixel = 0; pixel < to; ++pixel) {
          const ResizeTap tap = resize_tap(axis, pixel);
          for (const std::int64_t taken : {tap.first, tap.second}) {
            const ResizeReach reach = resize_reach(axis, taken);
            ASSERT_TRUE(reach.begin <= pixel && pixel < reach.end) << from << " to " << to << " at " << pixel;
            ASSERT_GE(resize_weight(tap, taken), 0);
          }
        }
      }
}

TEST(Resize, WeightsOfAPixelAddUpToOne) {
  const ResizeAxis axis{5, 13, ResizePlaces::half_pixel};
  for (std::int64_t pixel = 0; pixel < axis.to; ++pixel) {
    float sum = 0;
    for (std::int64_t taken = 0; taken < axis.from; ++taken)
      sum += resize_weight(resize_tap(axis, pixel), taken);
    EXPECT_FLOAT_EQ(sum, 1);
  }
}

}  // namespace
}  // namespace trainyard::ops
