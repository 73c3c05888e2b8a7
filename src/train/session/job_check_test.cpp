#include "train/session/job_check.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/cores.h"
#include "base/test_folder.h"
#include "meter/process_stat.h"
#include "meter/test_machine.h"

namespace trainyard::train {

namespace {

SessionOptions fc(const char* width) {
  SessionOptions options;
  options.model = {.network = "fc",
                   .batch = 2,
                   .classes = 4,
                   .parameters = {{"layers", "2"}, {"width", width}, {"inputs", "100"}}};
  options.backend = "reference";
  return options;
}

TEST(MemoryCheck, ASessionThatCannotFitIsRefusedBeforeItIsPlanned) {
  expect_error(ErrorKind::unsupported, "network 'fc' at batch 2: needs ", [] { Session{fc("16000000")}; });
}

TEST(MemoryCheck, WhatFitsIsNotRefused) {
  Session session(fc("16"));
  EXPECT_NO_THROW(check_memory(session.options(), session.executor().plan(), session.executor().device()));
}

TEST(MemoryCheck, SeveralSessionsNeedSeveralTimesAsMuch) {
  SessionOptions options = fc("1024");
  Session session(options);
  options.sessions = 1 << 30;
  expect_error(ErrorKind::unsupported, " of memory, this machine has ",
               [&] { check_memory(options, session.executor().plan(), session.executor().device()); });
}

TEST(MemoryCheck, AvailableIsTheLeastOfWhatLimits) {
  meter::TestMachine machine;
  EXPECT_EQ(meter::available_bytes(machine.files()), 0);
  machine.write("/proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 1000 kB");
  EXPECT_EQ(meter::available_bytes(machine.files()), 1000 * 1024);
  machine.write("/proc/self/cgroup", "0::/").write("/sys/fs/cgroup/memory.max", "1024");
  EXPECT_EQ(meter::available_bytes(machine.files()), 1);  // this process has more already
  machine.write("/sys/fs/cgroup/memory.max", "900000")
      .write("/sys/fs/cgroup/memory.current", "500000")
      .write("/sys/fs/cgroup/memory.stat", "anon 100000\ninactive_file 200000\n");
  EXPECT_EQ(meter::available_bytes(machine.files()), 600000);  // others of the group have the rest
}

class JobCheck : public testing::Test {
 protected:
  JobCheck() { machine_.write("/proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB"); }
  void refuses(const std::vector<JobPart>& parts, const std::string& why) {
    expect_error(ErrorKind::unsupported, why, [&] { check_job("--workers 9", parts, machine_.files()); });
  }

  meter::TestMachine machine_;
};

TEST_F(JobCheck, WhatHasRoomMayStart) {
  EXPECT_NO_THROW(check_job("--workers 4", {{4, 200e6}, {1, 100e6}}, machine_.files()));
}

TEST_F(JobCheck, MoreProcessesThanCoresBearAreRefused) {
  const auto cores = static_cast<std::int64_t>(process_cores().size());
  EXPECT_NO_THROW(check_job("--workers 9", {{32 * cores, 1}}, machine_.files()));
  refuses({{32 * cores, 1}, {1, 1}},
          fmt::format("--workers 9: {} processes, this machine may have {} (32 for each of {} cores; "
                      "TRAINYARD_MAX_PROCESSES sets another limit)",
                      32 * cores + 1, 32 * cores, cores));
  ::setenv("TRAINYARD_MAX_PROCESSES", std::to_string(40 * cores).c_str(), 1);
  EXPECT_NO_THROW(check_job("--workers 9", {{40 * cores, 1}}, machine_.files()));
  ::setenv("TRAINYARD_MAX_PROCESSES", "many", 1);
  expect_error(ErrorKind::usage, "TRAINYARD_MAX_PROCESSES=many: a number above 0 is wanted", [&] {
    check_job("--workers 9", {{1, 1}}, machine_.files());
  });
  ::unsetenv("TRAINYARD_MAX_PROCESSES");
}

TEST_F(JobCheck, AControlGroupLimitsProcesses) {
  machine_.write("/proc/self/cgroup", "0::/a")
      .write("/sys/fs/cgroup/a/pids.max", "100")
      .write("/sys/fs/cgroup/a/pids.current", "60");
  refuses({{6, 1}}, "6 processes, this machine may have 5 (the control group has room for 40 threads");
}

TEST_F(JobCheck, WhatHasNoRoomInMemoryIsRefused) {
  refuses({{4, 250e6}, {1, 100e6}},
          "--workers 9: 5 processes need 1.02 GiB of memory, this machine has 977 MiB left");
  machine_.write("/proc/self/cgroup", "0::/a").write("/sys/fs/cgroup/a/memory.max", "1024");
  refuses({{1, 1e6}}, "this machine has 1.00 B left");
}

TEST_F(JobCheck, AWorkerNeedsItsPlanAndItself) {
  SessionOptions options;
  options.model = {.network = "fc",
                   .batch = 2,
                   .classes = 4,
                   .parameters = {{"layers", "2"}, {"width", "4096"}, {"inputs", "100"}}};
  options.backend = "reference";
  const double parameters = 4.0 * 4096 * 4096, alone = process_bytes();
  EXPECT_GT(alone, 10e6);
  EXPECT_GT(worker_bytes(options), 2 * parameters);  // with gradients
  EXPECT_LT(worker_bytes(options), 6 * parameters + 2 * alone);
  EXPECT_LT(server_bytes(options, 4), server_bytes(options, 1));
}

}  // namespace

}  // namespace trainyard::train
