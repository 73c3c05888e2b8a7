// Devices, strategies and scaling on the command line: what is refused, what is reported, what is kept.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

class DeploymentsTest : public CliTest {
 protected:
  void SetUp() override {
    if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  }

  Json object_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return parse_json(result.out);
  }
};

TEST_F(DeploymentsTest, WhatCannotBeIsRefused) {
  const std::string bench = "bench --network lenet --steps 1 ", two = bench + "--devices 2 ";
  expect_failure(two, 1, "leaves the rest idle");
  expect_failure(two + "--strategy allreduce --batch 32", 1,
                 "wants --scaling: weak (a batch of 32 on each, 64 in all) or strong (32 in all, split)");
  expect_failure(two + "--strategy allreduce --scaling wek", 1, "did you mean 'weak'");
  expect_failure(two + "--strategy alreduce --scaling weak", 1, "did you mean 'allreduce'");
  expect_failure(two + "--strategy allreduce --scaling strong --batch 33", 1, "cannot split it equally");
  expect_failure(two + "--strategy allreduce --scaling weak --threads 1", 1, "--threads 1: cannot be shared");
  expect_failure(bench + "--devices 4096 --strategy allreduce --scaling weak", 1, "a core of its own");
  expect_failure(bench + "--devices 0", 1, "--devices: '0' given");
  expect_failure(bench + "--device tpu", 1, "unknown device 'tpu': cpu, cuda or cuda:NUMBER");
  expect_failure(bench + "--device cuda:99", 1, "device 'cuda");  // not built for, no GPU, or not so many
  expect_failure(bench + "--backend onednn --device cuda", 1,
                 "backend 'onednn' does not run on device 'cuda'");
  expect_failure(bench + "--precision bf16", 1, "precision bf16: on the CPU there is f32 only");
  expect_failure(bench + "--precision f16", 1, "--precision 'f16'");
  expect_failure("train --network lenet --steps 1 --devices 2", 1, "leaves the rest idle");
}

TEST_F(DeploymentsTest, RecordsSayHowFarApartTheCoresAre) {
  const std::string bench = "bench --network lenet --batch 4 --steps 2 --no-peak --json --threads ";
  EXPECT_FALSE(
      parse_json(cli_test::run(trainyard(bench + "1"), options()).out).contains("handoff_before_seconds"));
  Json json;
  const auto measured = [&] {
    return json.contains("handoff_before_seconds") && json.contains("handoff_after_seconds");
  };
  for (int attempt = 0; attempt < 40 && !measured(); ++attempt)
    json = parse_json(cli_test::run(trainyard(bench + "2"), options()).out);
  double load = 0;
  if (!measured() && ::getloadavg(&load, 1) == 1 && load > 2 * json["cores_allowed"].get<double>())
    GTEST_SKIP() << "others held the threads up: " << load << " processes wanted " << json["cores_allowed"]
                 << " cores";
  ASSERT_TRUE(measured());
  for (const char* figure : {"handoff_before_seconds", "handoff_after_seconds"}) {
    EXPECT_GT(json[figure], 1e-9);
    EXPECT_LT(json[figure], 1e-4);
  }
}

TEST_F(DeploymentsTest, EnvironmentDoesNotChangeTheThreads) {
  CommandOptions narrow = options();
  narrow.environment["OMP_NUM_THREADS"] = "1";
  const std::string two = "bench --network lenet --batch 4 --steps 2 --threads 2 --no-peak --json";
  const Json json = parse_json(cli_test::run(trainyard(two), narrow).out);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["cores_allowed"], 2);
  narrow.environment = options().environment;
  narrow.environment["OMP_PROC_BIND"] = "true";
  narrow.environment["GOMP_CPU_AFFINITY"] = "0";
  const std::string one = "bench --network lenet --batch 4 --steps 2 --threads 1 --no-peak --json";
  EXPECT_EQ(parse_json(cli_test::run(trainyard(one), narrow).out)["cores_allowed"], 1);
  narrow.environment = options().environment;
  narrow.environment["OMP_THREAD_LIMIT"] = "1";
  expect_failed(cli_test::run(trainyard(two), narrow), 1, "OMP_THREAD_LIMIT");
}

TEST_F(DeploymentsTest, EveryStrategyCountsItsImages) {
  const std::pair<std::string, std::string> deployments[] = {
      {"towers-device", "weak"}, {"towers-host", "strong"}, {"allreduce", "weak"}, {"independent", "strong"}};
  for (const auto& [strategy, scaling] : deployments) {
    SCOPED_TRACE(strategy);
    const Json json = object_from(fmt::format(
        "bench --network lenet --batch 8 --steps 3 --warmup 1 --devices 2 --no-peak --json --strategy {} "
        "--scaling {}",
        strategy, scaling));
    const int each = scaling == "weak" ? 8 : 4;
    EXPECT_EQ(json["strategy"], strategy);
    EXPECT_EQ(json["scaling"], scaling);
    EXPECT_EQ(json["devices"], 2);
    EXPECT_EQ(json["batch"], 8);
    EXPECT_EQ(json["batch_per_device"], each);
    EXPECT_EQ(json["global_batch"], 2 * each);
    EXPECT_EQ(json["images_per_step"], 2 * each);
    EXPECT_EQ(json["images_consumed"], 3 * 2 * each);
    const double speed = 2 * each / json["step_seconds"]["mean"].get<double>();
    EXPECT_NEAR(json["images_per_second"].get<double>(), speed, 1e-9 * speed);
    EXPECT_NEAR(json["images_per_second_per_device"].get<double>(), speed / 2, 1e-9 * speed);
    EXPECT_EQ(json["cores_allowed"], json["threads"]);
    EXPECT_GT(json["cpu_seconds"].get<double>(), 0);
    EXPECT_LE(json["cores_used"].get<double>(), 1.05 * json["threads"].get<double>() + 0.05);
    for (const Json& warning : json["warnings"]) EXPECT_NE(warning["kind"], "cores") << warning;
  }
}

TEST_F(DeploymentsTest, IndependentDevicesKeepFoldersOfTheirOwn) {
  const std::string train =
      "train --network lenet --batch 4 --devices 2 --strategy independent --scaling weak --no-eval --json "
      "--out run ";
  const Json json = object_from(train + "--steps 3");
  ASSERT_EQ(json["replicas"].size(), 2u);
  EXPECT_EQ(json["replicas"][1]["checkpoint"], "run/device-1/step-00000003");
  EXPECT_NE(json["replicas"][0]["first_loss"], json["replicas"][1]["first_loss"]);
  EXPECT_TRUE(std::filesystem::exists(work() / "run" / "record.json"));
  expect_failure(train + "--steps 4", 1, "give --resume");
  std::filesystem::remove_all(work() / "run" / "device-0");  // as if killed before its first checkpoint
  const Json rest = object_from(train + "--steps 5 --resume");
  EXPECT_TRUE(rest["replicas"][0]["resumed_from"].is_null());
  EXPECT_EQ(rest["replicas"][1]["resumed_from"], "run/device-1/step-00000003");
  EXPECT_EQ(rest["replicas"][0]["first_loss"], json["replicas"][0]["first_loss"]);
  EXPECT_EQ(rest["final_step"], 5);
}

TEST_F(DeploymentsTest, InterruptedReplicasSaveAndGoOn) {
  for (const std::string strategy : {"towers-host", "allreduce", "independent"}) {
    SCOPED_TRACE(strategy);
    const std::string arguments =
        "train --network lenet --batch 4 --devices 2 --scaling weak --checkpoint-every 3 "
        "--no-eval --json --strategy " +
        strategy + " --out " + strategy;
    const std::filesystem::path kept =
        strategy == "independent" ? work() / strategy / "device-1" : work() / strategy;
    Command command(trainyard(arguments + " --steps 1000000"), options());
    while (command.running() && !engine::latest_checkpoint(kept))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    command.signal(SIGINT);
    const CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    const Json report = parse_json(result.out);
    EXPECT_EQ(report["status"], "interrupted");
    auto step = report["final_step"].get<std::int64_t>();
    if (report.contains("replicas"))
      for (const Json& each : report["replicas"])
        step = std::max(step, each["final_step"].get<std::int64_t>());
    const Json rest = object_from(fmt::format("{} --steps {} --resume", arguments, step + 2));
    EXPECT_EQ(rest["final_step"], step + 2);
  }
}

}  // namespace
}  // namespace trainyard::cli_test
