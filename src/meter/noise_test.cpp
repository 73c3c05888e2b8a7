#include "meter/noise.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <list>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "meter/test_machine.h"

namespace trainyard::meter {

namespace {

std::vector<std::string> kinds(const std::vector<record::Warning>& warnings) {
  std::vector<std::string> names;
  for (const record::Warning& warning : warnings) {
    EXPECT_EQ(warning.text.find('\n'), std::string::npos);
    names.push_back(warning.kind);
  }
  return names;
}

using Kinds = std::vector<std::string>;

// Ten seconds on four cores: this process used two of them, and nothing else happened.
NoiseReading quiet_end() {
  NoiseReading end;
  end.cpu.steady_seconds = end.wall_clock_seconds = 10;
  end.cpu.so_far.user_seconds = 20;
  end.cpu.so_far.machine_busy_seconds = 20.2;
  end.cpu.so_far.machine_seconds = 40;
  end.frequency = {.governor = "performance", .min_mhz = 800, .max_mhz = 3500, .current_mhz = 3400};
  return end;
}

NoiseReading quiet_start() {
  NoiseReading start;
  start.frequency = quiet_end().frequency;
  return start;
}

TEST(Noise, AQuietMachineGivesNoWarning) {
  NoiseReading end = quiet_end();
  EXPECT_EQ(kinds(find_noise(quiet_start(), end)), Kinds{});
  end.frequency.current_mhz = 3200;
  end.cpu.so_far.major_faults = 5;
  end.cpu.so_far.machine_steal_seconds = 0.3;
  end.wall_clock_seconds = 10.005;
  EXPECT_EQ(kinds(find_noise(quiet_start(), end)), Kinds{});
}

TEST(Noise, EachDisturbanceHasItsKind) {
  const NoiseReading start = quiet_start();
  NoiseReading end = quiet_end();
  end.cpu.so_far.machine_busy_seconds = 31;
  end.cpu.so_far.load_average = 3.25;
  const std::vector<record::Warning> load = find_noise(start, end);
  ASSERT_EQ(kinds(load), Kinds{"load"});
  EXPECT_EQ(load[0].text, "other processes kept 1.10 of 4 cores busy (this one 2.00; load average 3.25)");

  end = quiet_end();
  end.cpu.so_far.machine_steal_seconds = 2;
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"steal"});

  end = quiet_end();
  end.frequency.current_mhz = 2200;
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"frequency"});
  end = quiet_end();
  end.frequency.governor = "powersave";
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"governor"});

  end = quiet_end();
  end.thermal_throttles = 3;
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"throttle"});
  end = quiet_end();
  end.quota = {.periods = 7, .seconds = 0.4};
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"throttle"});
  end = quiet_end();
  end.gpus.resize(2);
  end.gpus[1].throttle_reasons = {"power cap"};
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"throttle"});

  end = quiet_end();
  end.swapped_bytes = 64 << 20;
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"memory"});
  end = quiet_end();
  end.cpu.so_far.major_faults = 500;
  EXPECT_EQ(kinds(find_noise(start, end)), Kinds{"memory"});

  end = quiet_end();
  end.wall_clock_seconds = -3590;
  const std::vector<record::Warning> clock = find_noise(start, end);
  ASSERT_EQ(kinds(clock), Kinds{"clock"});
  EXPECT_EQ(clock[0].text, "the wall clock went back by 3590.000 s while 10.000 s passed");
}

TEST(Noise, AShortRunIsNotBlamedForTicks) {
  NoiseReading end = quiet_end();
  end.cpu.steady_seconds = end.wall_clock_seconds = 0.05;
  end.cpu.so_far = {.user_seconds = 0.1,
                    .machine_seconds = 0.2,
                    .machine_busy_seconds = 0.14,
                    .machine_steal_seconds = 0.01};
  EXPECT_EQ(kinds(find_noise(quiet_start(), end)), Kinds{});
}

TEST(Noise, AMachineThatTellsNothingGivesNoWarning) {
  const NoiseGuard guard(nullptr, SystemFiles("/nowhere"));
  EXPECT_EQ(kinds(guard.finish()), Kinds{});
}

TEST(Noise, CountersAreReadFromTheirFiles) {
  TestMachine machine;
  const auto write = [&](int busy_ticks, int steal_ticks, int throttles, int pages) {
    machine
        .write("/proc/stat",
               fmt::format("cpu  {} 0 0 5000 0 0 0 {} 0 0\ncpu0 1 2 3", busy_ticks, steal_ticks))
        .write("/proc/loadavg", "1.50 1.00 0.50 2/107 30930")
        .write("/proc/vmstat", fmt::format("nr_free 1\npswpin {}\npswpout 0", pages))
        .write("/sys/devices/system/cpu/online", "0")
        .write("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", std::to_string(throttles))
        .write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave")
        .write("/proc/self/cgroup", "0::/x")
        .write("/sys/fs/cgroup/x/cpu.stat", fmt::format("nr_throttled {}\nthrottled_usec 20", throttles));
  };
  write(1000, 0, 5, 10);
  NoiseReading before = read_noise(machine.files());
  before.cpu.steady_seconds -= 40;  // as if a while ago
  before.wall_clock_seconds -= 40;
  EXPECT_DOUBLE_EQ(before.cpu.so_far.machine_busy_seconds, 10);
  EXPECT_DOUBLE_EQ(before.cpu.so_far.machine_seconds, 60);
  EXPECT_DOUBLE_EQ(before.cpu.so_far.load_average, 1.5);
  EXPECT_EQ(before.thermal_throttles, 5);
  write(9000, 400, 6, 100000);
  EXPECT_EQ(kinds(find_noise(before, read_noise(machine.files()))),
            (Kinds{"load", "steal", "governor", "throttle", "throttle", "memory"}));
}

// A Burner is a child that only burns time, started and stopped by this test.
class Burner {
 public:
  Burner() : child_(::fork()) {
    if (child_ == 0)
      for (volatile unsigned long turns = 0;;) turns = turns + 1;
  }
  ~Burner() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

 private:
  ::pid_t child_;
};

TEST(NoiseGuard, FlagsABusyLoopInAnotherProcess) {
  if (!SystemFiles().exists("/proc/stat")) GTEST_SKIP() << "no /proc/stat here";
  // One in sixteen is above every threshold; this process may have fewer cores than the machine.
  const long burners = 1 + ::sysconf(_SC_NPROCESSORS_ONLN) / 16;
  if (burners > static_cast<long>(std::thread::hardware_concurrency()))
    GTEST_SKIP() << "too few cores are allowed to disturb this machine";
  const NoiseGuard guard;
  {
    std::list<Burner> burning;
    for (long i = 0; i < burners; ++i) burning.emplace_back();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  const std::vector<record::Warning> warnings = guard.finish();
  bool load = false;
  for (const record::Warning& warning : warnings) load = load || warning.kind == "load";
  EXPECT_TRUE(load) << fmt::format("{} other cores", guard.cpu_use().other_cores());
}

TEST(NoiseGuard, DoesNotTakeThisProcessForAnother) {
  const CpuSnapshot start = read_cpu();
  const double end = now_seconds() + 0.5;
  for (volatile unsigned long turns = 0; now_seconds() < end;) turns = turns + 1;
  const CpuUse use = read_cpu().since(start);
  EXPECT_GT(use.cpu_seconds(), 0);
  EXPECT_LT(use.cores_used(), 1.1);  // one thread, however busy the machine is
  EXPECT_NEAR(use.wall_seconds, 0.5, 0.4);
  // The others' share is the rest of the machine's time.
  EXPECT_LE(use.other_cores() + use.cores_used(), use.machine_cores() + 0.2);
}

TEST(CpuSnapshot, CountsThreadsTogether) {
  const CpuSnapshot start = read_cpu();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      for (volatile unsigned long turns = 0; turns < 50'000'000;) turns = turns + 1;
    });
  threads.clear();
  const CpuUse use = read_cpu().since(start);
  EXPECT_GT(use.cpu_seconds(), 0.02);
  EXPECT_GT(use.cores_used(), 0);
  EXPECT_LT(use.cores_used(), 2.2);
}

// PretendedMachine has four cores and a clock of its own. Others keep as many cores busy as `load` says for a
// time.
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

// Other tests may run beside this one for an unknown time, so only the burner's time is known.
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
