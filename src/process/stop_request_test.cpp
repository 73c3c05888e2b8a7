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

// Some kernels keep their stack pointer on the heap, which a frame there would overwrite.
TEST(StopRequest, HandlersHaveAStackOfTheirOwn) {
  static std::uintptr_t stack_begin, stack_end, frame;
  const StopRequest guard;
  stack_t stack{};
  ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
  EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
  EXPECT_GE(stack.ss_size, std::size_t{32} << 10) << "vectors and tiles of matrix units are saved there";
  stack_begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  stack_end = stack_begin + stack.ss_size;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction now {
    }, probe{};
    sigaction(signal, nullptr, &now);
    EXPECT_NE(now.sa_flags & SA_ONSTACK, 0) << signal;
    probe.sa_handler = [](int) { frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); };
    probe.sa_flags = now.sa_flags;
    frame = 0;
    sigaction(signal, &probe, &now);
    std::raise(signal);
    sigaction(signal, &now, nullptr);
    EXPECT_TRUE(frame >= stack_begin && frame < stack_end) << signal;
  }
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
