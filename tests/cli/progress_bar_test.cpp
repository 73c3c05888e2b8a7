#include "cli/progress_bar.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace trainyard::cli {
namespace {

// Returns the text that is drawn where standard error is a terminal; "" where this machine gives none.
std::string drawn_on_terminal(const std::function<void()>& draw) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return "";
  if (::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    ::close(terminal);
    return "";
  }
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY), before = ::dup(STDERR_FILENO);
  std::string text;
  if (screen >= 0) {
    std::fflush(stderr);
    ::dup2(screen, STDERR_FILENO);
    draw();
    std::fflush(stderr);
    ::fcntl(terminal, F_SETFL, O_NONBLOCK);
    char part[256];
    for (ssize_t size = 0; (size = ::read(terminal, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(size));
    ::dup2(before, STDERR_FILENO);
    ::close(screen);
  }
  ::close(before);
  ::close(terminal);
  return text;
}

TEST(ProgressBarTest, TimeLeftIsWhatItIsToldOrElseWhatTheTimeSoFarSays) {
  const std::string told = drawn_on_terminal([] { ProgressBar("told", 10, false).update(0, "", 125); });
  if (told.empty()) GTEST_SKIP() << "no pseudo-terminal here";
  EXPECT_NE(told.find("  0 %  2 min 5 s left"), std::string::npos) << told;
  const std::string begun = drawn_on_terminal([] { ProgressBar("begun", 10, false).update(0); });
  EXPECT_EQ(begun.find("left"), std::string::npos) << begun;
  const std::string half = drawn_on_terminal([] {
    ProgressBar bar("half", 10, false);
    ::usleep(20'000);
    bar.update(5, "so far");
  });
  EXPECT_NE(half.find(" 50 %  "), std::string::npos) << half;
  EXPECT_NE(half.find(" ms left  so far"), std::string::npos) << half;
}

}  // namespace
}  // namespace trainyard::cli
