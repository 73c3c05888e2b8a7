// Profiles of commands that know themselves what they used. Wall-clock times are those the commands measured,
// and tolerances widen with the samples that a busy machine took from us.

#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/process_tree.h"
#include "profile/fake_gpu.h"

namespace trainyard::cli_test {
namespace {

const std::string kLoad = TRAINYARD_PROFILE_LOAD;

class ProfileTest : public CliTest {
 protected:
  Json profile(const std::string& load, const std::string& more = "--no-gpus") const {
    result_ = run("profile --json " + more + " -- " + kLoad + " " + load);
    EXPECT_EQ(result_.exit_code, 0) << result_.err;
    return parse_json(result_.out);
  }
  // The last line that the load printed.
  Json truth() const {
    const std::size_t line = result_.err.rfind('{');
    return parse_json(result_.err.substr(std::min(line, result_.err.size())));
  }
  static Json signal(const Json& record, const std::string& name) {
    for (const Json& one : record["profile"]["signals"])
      if (one["signal"] == name) return one;
    ADD_FAILURE() << "no signal " << name;
    return {};
  }
  static double missed_share(const Json& record) {
    const auto missed = record["missed_samples"].get<double>(), taken = record["samples"].get<double>();
    return missed / (missed + taken);
  }

  mutable CommandResult result_;
};

TEST_F(ProfileTest, TheTrainingOfATransformerIsSeenAsAnyCommand) {
  std::vector<std::string> command = trainyard("profile --json --no-gpus --");
  for (const std::string& word :
       trainyard("train --network transformer --layers 2 --width 16 --heads 2 --length 12 "
                 "--vocabulary 32 --data language:3 --batch 4 --steps 20 --quiet"))
    command.push_back(word);
  const CommandResult result = cli_test::run(command, options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("least loss"), std::string::npos) << "what the command printed: " << result.err;
  const Json record = parse_json(result.out);
  EXPECT_GT(record["cpu_seconds"], 0);
  EXPECT_GT(signal(record, "cpu_cores")["max"], 0);
}

TEST_F(ProfileTest, CpuBurstsAreThoseOfTheCommand) {
  const Json record = profile("duty 5 0.3");
  const Json cpu = signal(record, "cpu_cores"), busy = truth();
  const auto used = busy["cpu_seconds"].get<double>(), seconds = busy["seconds"].get<double>();
  EXPECT_NEAR(record["cpu_seconds"].get<double>() / used, 1,
              0.02);  // starting it is no part of its own count
  EXPECT_NEAR(cpu["mean"].get<double>() * record["seconds"].get<double>() / used, 1, 0.02);
  EXPECT_LT(record["sampler_cores"], 0.01);
  EXPECT_GT(record["sampler_proc_cores"], 0);
  EXPECT_LT(record["sampler_proc_cores"], record["sampler_cores"]);
  EXPECT_EQ(record["sampler_nvml_cores"], 0);
  // With others on its core there are three levels: idle, alone, shared.
  const double got = used / busy["busy_seconds"].get<double>();
  if (got < 0.9) GTEST_SKIP() << "others took the core: the command got " << got << " of it";
  const double in_bursts = cpu["burst"]["mean"].get<double>() * cpu["burst"]["seconds"].get<double>();
  EXPECT_GT(in_bursts / used, 0.97);
  EXPECT_NEAR(cpu["burst_share"].get<double>(), busy["busy_seconds"].get<double>() / seconds,
              0.02 + missed_share(record));
  EXPECT_EQ(cpu["burst"]["count"], 5);
  EXPECT_NEAR(cpu["period_seconds"].get<double>(), seconds / 5, 0.1 * seconds / 5);
}

TEST_F(ProfileTest, SquareWavesOfAGpuAreRecovered) {
  CommandOptions with_gpu = options();
  with_gpu.environment["LD_LIBRARY_PATH"] = TRAINYARD_FAKE_NVML;
  with_gpu.environment["FAKE_NVML_PERIOD"] = "0.77";
  with_gpu.environment["FAKE_NVML_DUTY"] = "0.3";
  with_gpu.environment["FAKE_NVML_CALL_MICROSECONDS"] = "15";
  const CommandResult result = cli_test::run(
      trainyard("profile --json --legacy --record gpu.json -- " + kLoad + " memory 1000000 4.8"), with_gpu);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json record = parse_json(result.out);
  const auto asking = record["sampler_nvml_cores"].get<double>();
  EXPECT_GT(asking, 0);
  EXPECT_LT(asking, 0.002);
  EXPECT_LT(asking + record["sampler_proc_cores"].get<double>(), record["sampler_cores"]);
  EXPECT_LT(record["sampler_cores"], 0.01);
  // It rose when the profile began, and need not have come to the end of a period.
  const double seconds = record["seconds"].get<double>(), turns = seconds / 0.77;
  const double busy_share = (std::floor(turns) * 0.3 + std::min(turns - std::floor(turns), 0.3)) / turns;
  const double tolerance = 0.02 + missed_share(record);
  for (const char* name :
       {"gpu0_busy_fraction", "gpu0_memory_busy_fraction", "gpu0_memory_used_bytes", "gpu0_power_watts"}) {
    const Json wave = signal(record, name);
    EXPECT_NEAR(wave["burst_share"].get<double>(), busy_share, tolerance) << name;
    EXPECT_NEAR(wave["period_seconds"].get<double>(), 0.77, 0.02) << name;
  }
  const Json busy = signal(record, "gpu0_busy_fraction"), memory = signal(record, "gpu0_memory_used_bytes");
  EXPECT_NEAR(busy["burst"]["mean"].get<double>(), 0.95, 0.01);
  EXPECT_NEAR(busy["idle"]["mean"].get<double>(), 0.04, 0.01);
  EXPECT_NEAR(busy["peak_share"].get<double>(), busy_share, tolerance);
  EXPECT_NEAR(memory["peak_share"].get<double>(), busy_share, tolerance);  // 15 of 16 GiB
  EXPECT_NEAR(memory["high"].get<double>(), static_cast<double>(fake_gpu::kBusy.memory_bytes), 1);
  EXPECT_NEAR(memory["low"].get<double>(), static_cast<double>(fake_gpu::kIdle.memory_bytes), 1);
  EXPECT_EQ(signal(record, "gpu0_process_memory_bytes")["max"].get<double>(),
            static_cast<double>(fake_gpu::kProcessBytes));
  EXPECT_NEAR(signal(record, "gpu0_sm_mhz")["mean"].get<double>(), 1500, 1e-6);
  const double mean_watts = busy_share * 300 + (1 - busy_share) * 60;
  EXPECT_NEAR(record["gpu_energy_joules"].get<double>() / (mean_watts * seconds), 1,
              0.05 + missed_share(record));
  EXPECT_EQ(record["provenance"]["gpu0"]["name"], "Fake GPU");
  for (const Json& shares : record["profile"]["legacy"]) {
    if (shares["column"] == "cpu_util") continue;
    EXPECT_NEAR(shares["burst"].get<double>(), 1 - busy_share, tolerance) << shares;  // the larger cluster
    EXPECT_NEAR(shares["idle"].get<double>(), busy_share, tolerance) << shares;
    EXPECT_NEAR(shares["peak"].get<double>(), shares["column"] == "gpu_memory_util" ? 0 : busy_share,
                tolerance)
        << shares;
  }
  // The stored trace says the same.
  const CommandResult again = run("profile --json --legacy --from gpu.trace.csv");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(parse_json(again.out)["profile"], record["profile"]);
  EXPECT_EQ(record["trace"], "gpu.trace.csv");
}

TEST_F(ProfileTest, BytesThroughTheLoopbackAreCounted) {
  constexpr double kBytes = 200e6;
  const CommandResult result =
      cli_test::run(words_of(fmt::format("{} alone {} profile --no-gpus --json -- {} loopback {}", kLoad,
                                         TRAINYARD_BINARY, kLoad, kBytes)),
                    options());
  if (result.exit_code == 77) GTEST_SKIP() << "no network of its own may be made here";
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json record = parse_json(result.out);
  for (const char* name : {"loopback_bytes", "network_sent_bytes", "network_received_bytes"}) {
    EXPECT_NEAR(record[name].get<double>() / kBytes, 1, 0.01) << name;
    EXPECT_GT(record[name], kBytes) << name;  // headers
  }
}

TEST_F(ProfileTest, ProcessesThatLiveShortlyOrAreOrphansCount) {
  const Json children = profile("children 40 0.01");
  EXPECT_GE(children["cpu_seconds"], 0.4);
  EXPECT_LT(children["cpu_seconds"], 0.8);
  const Json orphan = profile("orphan 0.5");
  EXPECT_GE(orphan["cpu_seconds"], 0.5);
  EXPECT_LT(orphan["cpu_seconds"], 0.6);
  EXPECT_GE(orphan["seconds"], 0.6);
  EXPECT_NEAR(signal(orphan, "cpu_cores")["mean"].get<double>() * orphan["seconds"].get<double>(),
              orphan["cpu_seconds"].get<double>(), 1e-4);
}

TEST_F(ProfileTest, MemoryAndDiskAreThoseOfTheCommand) {
  const Json memory = profile("memory 100000000 0.5");
  EXPECT_GT(memory["peak_memory_bytes"], 100e6);
  EXPECT_LT(memory["peak_memory_bytes"], 120e6);
  EXPECT_GT(signal(memory, "resident_bytes")["max"], 100e6);
  EXPECT_EQ(memory["peak_processes"], 1);
  const Json written = profile("write big 20971520");
  if (written.contains("disk_written_bytes") &&
      written["disk_written_bytes"] > 0) {  // tmpfs writes to no disk
    EXPECT_NEAR(written["disk_written_bytes"].get<double>() / 20971520, 1, 0.02);
  }
}

TEST_F(ProfileTest, AFailingCommandIsProfiledAndReported) {
  const CommandResult failed = run("profile --no-gpus --json --record r.json -- false");
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_EQ(failed.err, "trainyard: profile: 'false' ended with exit code 1\n");
  const Json record = parse_json(failed.out);
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["exit_code"], 1);
  EXPECT_TRUE(std::filesystem::exists(work() / "r.trace.csv"));
  EXPECT_EQ(read_json(work() / "r.json"), record);
  expect_failure("profile -- /nowhere/program", 1,
                 "cannot start '/nowhere/program': No such file or directory");
  expect_failure("profile", 1, "wants either a command after -- or a trace after --from");
  expect_failure("profile --hz 1000 -- true", 1, "--hz: '1000' given, a number from 1 to 100 expected");
  expect_failure("profile --from absent.csv", 1, "absent.csv");
}

TEST_F(ProfileTest, AnInterruptIsPassedOnAndWhatWasMeasuredIsKept) {
  for (const char* load : {"wait", "wait ignore"}) {
    Command command(trainyard("profile --no-gpus --quiet --record r.json -- " + kLoad + " " + load),
                    options());
    const std::filesystem::path printed = work().parent_path();
    const auto begun = [&] {  // the load says that it waits for signals
      for (const auto& file : std::filesystem::recursive_directory_iterator(printed)) {
        if (!file.is_regular_file()) continue;
        std::ifstream stream(file.path());
        std::string line;
        if (std::getline(stream, line) && line == "waiting") return true;
      }
      return false;
    };
    while (command.running() && !begun()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    command.signal(SIGINT);
    if (std::string(load) != "wait") {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_TRUE(command.running());
      command.signal(SIGINT);
    }
    const CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << load << result.err;
    const Json record = read_json(work() / "r.json");
    EXPECT_EQ(record["status"], "interrupted");
    EXPECT_EQ(record["exit_code"], std::string(load) == "wait" ? 0 : 137);
    EXPECT_GE(record["samples"], 2);
    EXPECT_GT(record["seconds"], 0.2);
    std::filesystem::remove(work() / "r.json");
  }
}

TEST_F(ProfileTest, OldTracesAreReducedAsTheirMakersDid) {
  std::ofstream trace(work() / "old.csv");
  for (int i = 0; i < 100; ++i)
    trace << (i % 10 < 3 ? "99 %, 40 %, 11100 MiB, 12.5, 0, 0\n" : "2 %, 0 %, 500 MiB, 12.5, 0, 0\n");
  trace.close();
  const CommandResult result = run("profile --from old.csv --legacy --gpu-memory 12288 --seed-hz 2 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json reduced = parse_json(result.out);
  EXPECT_EQ(reduced["seconds"], 50);
  const std::map<std::string, std::array<double, 3>> expected{{"gpu_util", {0.7, 0.3, 0.3}},
                                                              {"gpu_memory_util", {0.7, 0.3, 0}},
                                                              {"gpu_memory", {0.7, 0.3, 0.3}},
                                                              {"cpu_util", {1, 0, 0}}};
  ASSERT_EQ(reduced["profile"]["legacy"].size(), expected.size());
  for (const Json& shares : reduced["profile"]["legacy"]) {
    const auto& [burst, idle, peak] = expected.at(shares["column"].get<std::string>());
    EXPECT_NEAR(shares["burst"].get<double>(), burst, 1e-12) << shares;
    EXPECT_NEAR(shares["idle"].get<double>(), idle, 1e-12) << shares;
    EXPECT_NEAR(shares["peak"].get<double>(), peak, 1e-12) << shares;
  }
  const Json busy = signal(reduced, "gpu0_busy_fraction");  // ordered: what is busy is the burst
  EXPECT_NEAR(busy["burst_share"].get<double>(), 0.3, 1e-9);
  EXPECT_NEAR(busy["burst"]["mean_seconds"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(busy["period_seconds"].get<double>(), 5, 0.1);
}

TEST_F(ProfileTest, ASmallCommandsMemoryIsSmall) {
  const CommandResult result = run("profile --json -- sleep 0.2");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(parse_json(result.out)["peak_memory_bytes"], 30e6);
}

TEST_F(ProfileTest, WhatItStartedEndsWithIt) {
  std::vector<std::string> words = trainyard("profile -- sh -c");
  words.emplace_back("setsid sleep 1000 & wait");
  Command command(words, options());
  std::vector<pid_t> tree;
  while (command.running() && (tree = tree_below(command.pid())).size() < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(tree.size(), 2u);
  command.signal(SIGKILL);
  EXPECT_TRUE(end_soon(tree));
}

}  // namespace
}  // namespace trainyard::cli_test
