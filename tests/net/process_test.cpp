#include "net/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_folder.h"

namespace trainyard::net_test {
namespace {

class Processes : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(processes_left(), std::vector<std::string>()); }
  std::filesystem::path output() const { return folder_.path() / "output"; }
  const TestFolder folder_;
};

TEST_F(Processes, PrintToAFileAndEndWithACode) {
  Process command({"sh", "-c", "echo out; echo err >&2; exit 3"}, output());
  ASSERT_EQ(command.wait(60), (Exit{3, 0}));
  EXPECT_EQ(command.output(), "out\nerr\n");
  EXPECT_EQ(command.cpu_seconds(), 0);

  Process function(
      [] {
        fail(ErrorKind::peer, "nobody is there");
        return 0;
      },
      folder_.path() / "other");
  ASSERT_EQ(function.wait(60), (Exit{1, 0}));
  EXPECT_EQ(function.output(), "nobody is there\n");
  Process absent({"/no/such/command"}, output());
  EXPECT_EQ(absent.wait(60)->to_string(), "exit 127");
}

TEST_F(Processes, AreWaitedForOnlySoLong) {
  Process process({"sleep", "60"}, output());
  const double began = now_seconds();
  EXPECT_EQ(process.wait(0.05), std::nullopt);
  EXPECT_LT(now_seconds() - began, 30);
  process.kill();
  EXPECT_EQ(process.wait(0)->to_string(), "signal 9");
  process.kill();  // does nothing any more
}

TEST_F(Processes, StandStillAndGoOn) {
  Process process({"sh", "-c", "while :; do :; done"}, output());
  EXPECT_GT(cpu_share(process, 0.2), 0.02);
  process.stop();
  EXPECT_EQ(cpu_share(process, 0.2), 0);
  EXPECT_TRUE(process.runs());
  process.resume();
  EXPECT_GT(cpu_share(process, 0.2), 0.02);
}

TEST_F(Processes, AreSeenAlsoWhenTheirParentsAreGone) {
  pid_t orphan = 0;
  {
    Process parent({"sh", "-c", "sleep 60 & echo $!"}, output());
    ASSERT_TRUE(parent.wait(60));
    orphan = std::stoi(parent.output());
  }
  const std::vector<std::string> left = processes_left();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].find(std::to_string(orphan) + " "), 0u) << left[0];
  ::kill(orphan, SIGKILL);
  for (int i = 0; i < 1000 && !processes_left().empty(); ++i) {
    ::usleep(1000);
    ::waitpid(orphan, nullptr, WNOHANG);
  }
}

TEST_F(Processes, DoNotOutliveWhoStartedThem) {
  {
    Process parent(
        [this] {
          Process child({"sleep", "60"}, output());
          ::raise(SIGKILL);
          return 0;
        },
        output());
    EXPECT_EQ(parent.wait(60)->to_string(), "signal 9");
  }
  // It came to us when its parent went, and waits to be waited for.
  for (int i = 0; i < 1000 && !processes_left().empty(); ++i) {
    ::usleep(1000);
    ::waitpid(-1, nullptr, WNOHANG);
  }
}

}  // namespace
}  // namespace trainyard::net_test
