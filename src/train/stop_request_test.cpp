#include "train/stop_request.h"

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

TEST(StopRequest, FirstSignalAsksAndHandlersComeBack) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    const StopRequest guard;
    EXPECT_FALSE(StopRequest::asked());
    std::raise(SIGTERM);
    EXPECT_TRUE(StopRequest::asked());
  }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(StopRequestDeathTest, SecondSignalEndsAtOnce) {
  EXPECT_EXIT(
      {
        const StopRequest guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(0);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace trainyard::train
