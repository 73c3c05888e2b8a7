#include "meter/provenance.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "meter/test_machine.h"

namespace trainyard::meter {
namespace {

std::string text_of(const record::Provenance& facts, const std::string& section, const std::string& key) {
  const record::Value* value = record::find_fact(facts, section, key);
  return value ? record::to_text(*value) : "(absent)";
}

std::string all_text(const record::Provenance& facts) {
  std::string all;
  for (const record::Fact& fact : facts)
    all += fact.section + " " + fact.key + " " + record::to_text(fact.value) + "\n";
  return all;
}

TEST(CpuFacts, AnAmdServerWithTwoSocketsAndTwoThreadsACore) {
  TestMachine machine;
  machine.write("/proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7713 64-Core Processor\n"
                "cpu MHz\t\t: 1500.0\nflags\t\t: fpu sse2 sse4_2 fma f16c avx avx2 xsave");
  machine.write("/sys/devices/system/cpu/online", "0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    machine.write(topology + "physical_package_id", cpu % 4 < 2 ? "0" : "1");
    machine.write(topology + "thread_siblings_list",
                  std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  }
  const char* const caches[][3] = {
      {"1", "Data", "32K"}, {"1", "Instruction", "64K"}, {"2", "Unified", "512K"}, {"3", "Unified", "32M"}};
  for (int index = 0; index < 4; ++index) {
    const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    machine.write(cache + "level", caches[index][0]);
    machine.write(cache + "type", caches[index][1]);
    machine.write(cache + "size", caches[index][2]);
  }
  machine.write("/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,5\n");
  machine.write("/sys/devices/system/node/online", "0-1");
  machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3421000");
  machine.write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3720000");
  machine.write("/proc/self/cgroup", "0::/").write("/sys/fs/cgroup/cpu.max", "300000 100000");

  const record::Provenance facts = cpu_facts(machine.files());
  const std::pair<const char*, const char*> expected[] = {
      {"model", "AMD EPYC 7713 64-Core Processor"},
      {"vendor", "AuthenticAMD"},
      {"isa", "sse4_2 fma f16c avx avx2"},
      {"sockets", "2"},
      {"physical_cores", "4"},
      {"threads_per_core", "2"},
      {"logical_cores", "8"},
      {"allowed_cores", "5"},
      {"quota_cores", "3.0"},
      {"l1d_bytes", "32768"},
      {"l2_bytes", "524288"},
      {"l3_bytes", "33554432"},
      {"numa_nodes", "2"},
      {"governor", "performance"},
      {"min_mhz", "(absent)"},
      {"max_mhz", "3720.0"},
      {"current_mhz", "3421.0"},
  };
  for (const auto& [key, value] : expected) EXPECT_EQ(text_of(facts, "cpu", key), value) << key;
}

TEST(CpuFacts, AnArmMachineInAVirtualMachine) {
  TestMachine machine;
  machine.write("/proc/cpuinfo",
                "processor\t: 0\nFeatures\t: fp asimd asimdhp sve i8mm bf16\nCPU implementer\t: 0x41");
  machine.write("/sys/devices/system/cpu/online", "0");
  machine.write("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1");
  machine.write("/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0");
  const record::Provenance facts = cpu_facts(machine.files());
  EXPECT_EQ(text_of(facts, "cpu", "model"), "(absent)");
  EXPECT_EQ(text_of(facts, "cpu", "vendor"), "0x41");
  EXPECT_EQ(text_of(facts, "cpu", "isa"), "asimd asimdhp sve i8mm bf16");
  EXPECT_EQ(text_of(facts, "cpu", "sockets"), "1");
  EXPECT_EQ(text_of(facts, "cpu", "threads_per_core"), "1");
  EXPECT_EQ(text_of(facts, "cpu", "current_mhz"), "(absent)");
}

TEST(CpuFacts, NothingReadableIsNoFactAndNoError) {
  const SystemFiles nothing("/nowhere");
  EXPECT_TRUE(cpu_facts(nothing).empty());
  EXPECT_TRUE(memory_facts(nothing).empty());
  EXPECT_TRUE(system_facts(nothing).empty());
  EXPECT_TRUE(gpu_facts(nullptr).empty());
}

TEST(MemoryFacts, LimitAndHugePages) {
  TestMachine machine;
  machine
      .write("/proc/meminfo",
             "MemTotal:       16 kB\nMemFree:  1 kB\nMemAvailable:    8 kB\nHugePages_Total:  4")
      .write("/proc/self/cgroup", "0::/a")
      .write("/sys/fs/cgroup/a/memory.max", "12000")
      .write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  const record::Provenance facts = memory_facts(machine.files());
  EXPECT_EQ(text_of(facts, "memory", "total_bytes"), "16384");
  EXPECT_EQ(text_of(facts, "memory", "available_bytes"), "8192");
  EXPECT_EQ(text_of(facts, "memory", "limit_bytes"), "12000");
  EXPECT_EQ(text_of(facts, "memory", "huge_pages"), "4");
  EXPECT_EQ(text_of(facts, "memory", "transparent_huge_pages"), "madvise");
}

TEST(SystemFacts, ContainerAndHypervisor) {
  TestMachine machine;
  machine.write("/proc/sys/kernel/hostname", "r001").write("/proc/sys/kernel/osrelease", "6.1.0-1");
  machine.write("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"");
  EXPECT_EQ(text_of(system_facts(machine.files()), "system", "hypervisor"), "(absent)");
  EXPECT_EQ(text_of(system_facts(machine.files()), "system", "container"), "(absent)");
  machine.write("/proc/cpuinfo", "flags : fpu hypervisor avx").write("/sys/class/dmi/id/sys_vendor", "QEMU");
  machine.write("/proc/1/cgroup", "0::/kubepods/burstable/pod1");
  const record::Provenance facts = system_facts(machine.files());
  EXPECT_EQ(text_of(facts, "system", "node"), "r001");
  EXPECT_EQ(text_of(facts, "system", "kernel"), "6.1.0-1");
  EXPECT_EQ(text_of(facts, "system", "os"), "Debian GNU/Linux 12");
  EXPECT_EQ(text_of(facts, "system", "hypervisor"), "QEMU");
  EXPECT_EQ(text_of(facts, "system", "container"), "kubepods");
}

TEST(EnvironmentFacts, OnlyWhatTunesAProgram) {
  const record::Provenance facts =
      environment_facts({{"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI"},
                         {"SECRET_TOKEN", "hunter2"},
                         {"GITHUB_TOKEN", "ghp_0123"},
                         {"HOME", "/home/someone"},
                         {"PATH", "/usr/bin"},
                         {"OMP_NUM_THREADS", "4"},
                         {"DNNL_VERBOSE", "1"},
                         {"KMP_AFFINITY", "granularity=fine,compact,1,0"},
                         {"CUDA_VISIBLE_DEVICES", "GPU-8f6d0dd5-4c9a-11ee-be56-0242ac120002"},
                         {"LD_PRELOAD", "/home/someone/lib/libjemalloc.so.2:libx.so"}});
  EXPECT_EQ(all_text(facts),
            "environment OMP_NUM_THREADS 4\n"
            "environment DNNL_VERBOSE 1\n"
            "environment KMP_AFFINITY granularity=fine,compact,1,0\n"
            "environment CUDA_VISIBLE_DEVICES GPU-8f6d0dd5-4c9a-11ee-be56-0242ac120002\n"
            "environment LD_PRELOAD libjemalloc.so.2:libx.so\n");
}

TEST(EnvironmentFacts, SecretsUnderAllowedNamesAreHidden) {
  const char* const secrets[] = {"ghp_16C7e42F292c6912E7710c838347Ae178B4a",
                                 "AKIAIOSFODNN7EXAMPLE",
                                 "0123456789abcdef0123456789abcdef",
                                 "eyJhbGciOiJIUzI1NiJ9.e30.abc",
                                 "https://someone:word@host/x",
                                 "sk-proj-a-b-c"};
  for (const char* secret : secrets)
    EXPECT_EQ(all_text(environment_facts({{"OMP_DISPLAY_ENV", secret}})),
              "environment OMP_DISPLAY_ENV (hidden)\n");
  EXPECT_TRUE(
      environment_facts({{"MKL_LICENSE_KEY", "1"}, {"NCCL_AUTH", "x"}, {"TRAINYARD_TOKEN", "y"}}).empty());
}

TEST(SlurmFacts, KnownVariablesWithShortNames) {
  const record::Provenance facts = slurm_facts({{"SLURM_JOB_ID", "4711"},
                                                {"SLURM_JOB_NODELIST", "r[001-002]"},
                                                {"SLURM_JWT", "eyJhbGciOi"},
                                                {"SLURM_CPUS_ON_NODE", "28"}});
  EXPECT_EQ(all_text(facts), "slurm job_id 4711\nslurm node_list r[001-002]\nslurm cpus_on_node 28\n");
  EXPECT_EQ(std::get<std::int64_t>(*record::find_fact(facts, "slurm", "cpus_on_node")), 28);
}

TEST(Provenance, FindsThisMachineAndNoSecret) {
  ::setenv("SECRET_TOKEN", "correct-horse", 1);
  ::setenv("AWS_ACCESS_KEY_ID", "battery-staple", 1);
  ::setenv("OMP_TEST_PASSWORD", "tr0ub4dor", 1);
  ::setenv("GOMP_SPINCOUNT", "12345", 1);
  const record::Provenance facts = find_provenance();
  for (const char* name : {"SECRET_TOKEN", "AWS_ACCESS_KEY_ID", "OMP_TEST_PASSWORD", "GOMP_SPINCOUNT"})
    ::unsetenv(name);
  const std::string all = all_text(facts);
  for (const char* secret :
       {"correct-horse", "battery-staple", "tr0ub4dor", "SECRET", "AWS_", "PATH", "HOME"})
    EXPECT_EQ(all.find(secret), all.npos) << secret;
  EXPECT_EQ(text_of(facts, "environment", "GOMP_SPINCOUNT"), "12345");
  for (const auto& [section, key] : {std::pair{"cpu", "logical_cores"},
                                     {"cpu", "allowed_cores"},
                                     {"memory", "total_bytes"},
                                     {"system", "kernel"},
                                     {"system", "node"},
                                     {"build", "version"},
                                     {"build", "compiler"},
                                     {"build", "flags"},
                                     {"libraries", "glibc"},
                                     {"libraries", "fmt"}})
    EXPECT_NE(text_of(facts, section, key), "(absent)") << section << " " << key;
  EXPECT_GE(record::number_or(*record::find_fact(facts, "cpu", "logical_cores"), 0),
            record::number_or(*record::find_fact(facts, "cpu", "allowed_cores"), 1e9));
}

// Studies ask for it thousands of times. The test takes the best of several, because the machine may be busy.
TEST(Provenance, IsCheap) {
  if (Nvml::open()) GTEST_SKIP() << "a GPU's driver takes its own time to answer";
  double best_seconds = 1;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double start = now_seconds();
    find_provenance();
    best_seconds = std::min(best_seconds, now_seconds() - start);
  }
  RecordProperty("best_microseconds", static_cast<int>(1e6 * best_seconds));
  EXPECT_LT(best_seconds, 0.02);
}

}  // namespace
}  // namespace trainyard::meter
