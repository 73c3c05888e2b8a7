#include "meter/system_files.h"

#include <gtest/gtest.h>

#include "meter/cgroup.h"
#include "meter/test_machine.h"

namespace trainyard::meter {
namespace {

TEST(SystemFiles, AbsentFilesAreAbsentValues) {
  const TestMachine machine;
  EXPECT_EQ(machine.files().text("/proc/stat"), std::nullopt);
  EXPECT_EQ(machine.files().integer("/proc/stat"), std::nullopt);
  EXPECT_FALSE(machine.files().exists("/proc"));
}

TEST(SystemFiles, ReadsNoMoreThanAsked) {
  TestMachine machine;
  machine.write("/proc/long", std::string(100000, 'x'));
  EXPECT_EQ(machine.files().text("/proc/long", 5000)->size(), 5000u);
  EXPECT_EQ(machine.files().text("/proc/long")->size(), 100000u);
}

TEST(SystemFiles, KeysAreWholeWordsInAnyNotation) {
  const std::string text =
      "MemTotalX: 1 kB\nMemTotal:   16 kB\nmodel name\t: Some CPU\npswpin 7\nNAME=\"x y\"\nempty:\n";
  EXPECT_EQ(keyed_value(text, "MemTotal"), "16 kB");
  EXPECT_EQ(keyed_integer(text, "MemTotal"), 16);
  EXPECT_EQ(keyed_value(text, "model name"), "Some CPU");
  EXPECT_EQ(keyed_integer(text, "pswpin"), 7);
  EXPECT_EQ(keyed_value(text, "NAME"), "\"x y\"");
  EXPECT_EQ(keyed_value(text, "empty"), "");
  EXPECT_EQ(keyed_value(text, "pswp"), std::nullopt);
  EXPECT_EQ(keyed_integer(text, "model name"), std::nullopt);
}

TEST(SystemFiles, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("x,-2,3-999999999").empty());
}

TEST(Cgroup, TheSmallestLimitOnTheWayUpHolds) {
  TestMachine machine;
  machine.write("/proc/self/cgroup", "0::/slurm/job_7")
      .write("/sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000")
      .write("/sys/fs/cgroup/slurm/cpu.max", "150000 100000")
      .write("/sys/fs/cgroup/slurm/job_7/memory.max", "1073741824")
      .write("/sys/fs/cgroup/slurm/memory.max", "max");
  const CgroupLimits limits = read_cgroup_limits(machine.files());
  EXPECT_EQ(limits.cores, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1073741824);
}

TEST(Cgroup, VersionOneNamesItsControllers) {
  TestMachine machine;
  machine.write("/proc/self/cgroup", "5:memory:/box\n4:cpu,cpuacct:/box\n3:cpuset:/")
      .write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000")
      .write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000")
      .write("/sys/fs/cgroup/cpu,cpuacct/box/cpu.stat",
             "nr_periods 9\nnr_throttled 4\nthrottled_time 2500000000")
      .write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912")
      .write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const CgroupLimits limits = read_cgroup_limits(machine.files());
  EXPECT_EQ(limits.cores, 0.5);
  EXPECT_EQ(limits.memory_bytes, 536870912);
  const CgroupThrottle throttle = read_cgroup_throttle(machine.files());
  EXPECT_EQ(throttle.periods, 4);
  EXPECT_DOUBLE_EQ(throttle.seconds, 2.5);
}

TEST(Cgroup, InAContainerOnlyTheRootIsSeen) {
  TestMachine machine;
  machine.write("/proc/self/cgroup", "0::/kubepods/pod1/abc")
      .write("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(read_cgroup_limits(machine.files()).cores, 2);
  EXPECT_EQ(read_cgroup_limits(machine.files()).memory_bytes, std::nullopt);
}

TEST(Cgroup, NoLimitIsNone) {
  TestMachine machine;
  machine.write("/proc/self/cgroup", "1:cpu:/\n0::/").write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  machine.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(read_cgroup_limits(machine.files()).cores, std::nullopt);
  EXPECT_EQ(read_cgroup_limits(TestMachine().files()).cores, std::nullopt);
}

}  // namespace
}  // namespace trainyard::meter
