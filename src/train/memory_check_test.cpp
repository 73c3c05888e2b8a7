#include "train/memory_check.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "meter/memory.h"
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

}  // namespace
}  // namespace trainyard::train
