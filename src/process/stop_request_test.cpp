#include "process/stop_request.h"

#include <chrono>
#include <thread>

#include "base/test_folder.h"

namespace trainyard::process {

namespace {

TEST(StopRequest, FirstSignalAsksAndHandlersComeBack) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    const StopRequest guard;
    EXPECT_FALSE(StopRequest::asked());
    StopRequest::check();
    std::raise(SIGTERM);
    EXPECT_TRUE(StopRequest::asked());
    expect_error(ErrorKind::interrupted, "interrupted", StopRequest::check);
  }
  EXPECT_FALSE(StopRequest::asked()) << "who comes later was not asked";
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(StopRequestDeathTest, ASecondSignalEndsAtOnceButNotTheSameOneTwice) {
  EXPECT_EXIT(
      {
        const StopRequest guard;
        std::raise(SIGINT);
        std::raise(SIGINT);  // as timeout(1) sends it to the process and to its group
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        const StopRequest guard;
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(700));
        std::raise(SIGINT);
        std::_Exit(7);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace

}  // namespace trainyard::process
