#include "meter/quiet.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

namespace trainyard::meter {
namespace {

// Four cores, by a clock of its own: others keep as many of them busy as `load` says for a time.
class PretendedMachine {
 public:
  std::function<double(double)> load = [](double) { return 0.0; };
  double stolen_fraction = 0;
  std::function<std::string(double)> gpu = [](double) { return ""; };

  double now() const { return cpu_.steady_seconds; }
  QuietWait wait(
      double at_most, const std::function<bool()>& stop = [] { return false; }) {
    return wait_until_quiet(at_most, stop,
                            {.read_cpu = [this] { return cpu_; },
                             .busy_gpu = [this] { return gpu(now()); },
                             .pause = [this](double seconds) { pass(seconds); }});
  }

 private:
  void pass(double seconds) {
    constexpr double kCores = 4;
    cpu_.so_far.machine_busy_seconds += load(now()) * seconds;
    cpu_.so_far.machine_steal_seconds += stolen_fraction * kCores * seconds;
    cpu_.so_far.machine_seconds += kCores * seconds;
    cpu_.steady_seconds += seconds;
  }

  CpuSnapshot cpu_;
};

TEST(Quiet, TwoWindowsOfAQuietMachineAreEnough) {
  PretendedMachine machine;
  const QuietWait wait = machine.wait(120);
  EXPECT_TRUE(wait.quiet);
  EXPECT_EQ(wait.reason, "");
  EXPECT_NEAR(wait.waited_seconds, 1, 0.01);
}

TEST(Quiet, WaitsUntilOthersAreDone) {
  PretendedMachine machine;
  machine.load = [](double now) { return now < 7.3 ? 1.5 : 0.02; };
  const QuietWait wait = machine.wait(120);
  EXPECT_TRUE(wait.quiet);
  EXPECT_EQ(wait.reason, "");
  EXPECT_NEAR(wait.waited_seconds, 8.5, 0.1);
}

TEST(Quiet, AGapBetweenTwoBurstsIsNoQuiet) {
  PretendedMachine machine;
  machine.load = [](double now) { return static_cast<int>(now / 0.5) % 2 == 0 ? 2.0 : 0.0; };
  const QuietWait wait = machine.wait(20.1);
  EXPECT_FALSE(wait.quiet);
  EXPECT_NEAR(wait.waited_seconds, 20.1, 0.3);
  EXPECT_EQ(wait.reason.find("other processes kept "), 0u) << wait.reason;
}

TEST(Quiet, GivesUpWithAReason) {
  PretendedMachine machine;
  machine.load = [](double) { return 1.02; };
  QuietWait wait = machine.wait(10);
  EXPECT_FALSE(wait.quiet);
  EXPECT_NEAR(wait.waited_seconds, 10, 0.3);
  EXPECT_EQ(wait.reason, "other processes kept 1.02 of 4 cores busy");

  machine.load = [](double) { return 0.0; };
  machine.stolen_fraction = 0.05;
  wait = machine.wait(3);
  EXPECT_FALSE(wait.quiet);
  EXPECT_EQ(wait.reason, "the hypervisor took 5.0 % of the machine's time (100 ms)");

  machine.stolen_fraction = 0;
  const double begin = machine.now();
  machine.gpu = [&](double now) { return now < begin + 2.2 ? "GPU 1 was busy for 80 % of the time" : ""; };
  EXPECT_EQ(machine.wait(2).reason, "GPU 1 was busy for 80 % of the time");
  EXPECT_TRUE(machine.wait(10).quiet);
}

TEST(Quiet, AShortWaitHasTwoWindows) {
  PretendedMachine machine;
  const QuietWait wait = machine.wait(0.2);
  EXPECT_TRUE(wait.quiet);
  EXPECT_NEAR(wait.waited_seconds, 0.2, 0.01);
}

TEST(Quiet, StopsAtOnce) {
  PretendedMachine machine;
  const QuietWait wait = machine.wait(100, [&] { return machine.now() > 3.14; });
  EXPECT_TRUE(wait.quiet) << "it was so before";
  machine.load = [](double) { return 3.0; };
  const double begin = machine.now();
  const QuietWait stopped = machine.wait(100, [&] { return machine.now() > begin + 3.14; });
  EXPECT_FALSE(stopped.quiet);
  EXPECT_NEAR(machine.now() - begin, 3.2, 0.15);
  EXPECT_NE(stopped.reason, "");
}

// Other tests may run beside this one: how long they do is not known, so that only the burner's time is.
TEST(Quiet, AProcessThatBurnsTimeIsWaitedFor) {
  if (!SystemFiles().exists("/proc/stat")) GTEST_SKIP() << "no /proc/stat here";
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 16) GTEST_SKIP() << "one process is too few to disturb this machine";
  const pid_t burner = ::fork();
  if (burner == 0) {
    ::alarm(2);  // ends it
    for (volatile unsigned long turns = 0;;) turns = turns + 1;
  }
  const QuietWait wait = wait_until_quiet(4, [] { return false; });
  ::kill(burner, SIGKILL);
  ::waitpid(burner, nullptr, 0);
  EXPECT_GT(wait.waited_seconds, 1.9);
  EXPECT_LT(wait.waited_seconds, 8);
  EXPECT_EQ(wait.quiet, wait.reason.empty()) << wait.reason;
}

TEST(Quiet, AMachineThatTellsNothingIsTakenForQuiet) {
  EXPECT_TRUE(wait_until_quiet(
                  0.1, [] { return false; }, SystemFiles("/nowhere"))
                  .quiet);
}

}  // namespace
}  // namespace trainyard::meter
