// `predict` and `place` read the devices that `probe` measures.

#include <fstream>
#include <sstream>

#include "backend/backend.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "predict/runs/device.h"

namespace trainyard::cli_test {
namespace {

using ProbeTest = CliTest;

TEST_F(ProbeTest, WhatItPrintsIsADevice) {
  const CommandResult result = run("probe --threads 1 --seconds 0.001 --name corner --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ofstream(work() / "corner.json") << result.out;
  const Json report = parse_json(result.out);
  const Json& given = report["devices"]["corner"];
  const std::vector<predict::DeviceSheet> read = predict::read_devices(work() / "corner.json");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0], (predict::DeviceSheet{.name = "corner",
                                           .flops_per_second = given["flops_per_second"].get<double>(),
                                           .bytes_per_second = given["bytes_per_second"].get<double>(),
                                           .launch_seconds = given["launch_seconds"].get<double>(),
                                           .memory_bytes = given["memory"].get<double>(),
                                           .multiprocessors = 1,
                                           .kind = predict::DeviceKind::cpu}));
  EXPECT_GE(read[0].flops_per_second, report["fma_flops_per_second"]["f32"].get<double>());
  EXPECT_GE(read[0].bytes_per_second, report["memory_bytes_per_second"]["triad"].get<double>());
  EXPECT_GE(read[0].launch_seconds, report["launch_seconds"]["smallest_kernel"].get<double>());
  EXPECT_GT(read[0].launch_seconds, 1e-9);
  EXPECT_LE(read[0].memory_bytes, report["provenance"]["memory"]["total_bytes"].get<double>());
}

TEST_F(ProbeTest, ADeviceThatWasNotMeasuredIsNone) {
  std::ofstream(work() / "machine.json") << run("probe --machine --json").out;
  expect_error(ErrorKind::config, "no device here", [&] { predict::read_devices(work() / "machine.json"); });
}

// oneDNN has fast backward kernels of dense layers only for weights that it knows as plain rows. Behind
// images they lie in blocks on processors without AVX-512, and lenet's steps took its reference kernels: 200
// times as long.
TEST_F(ProbeTest, DenseLayersBehindImagesTakeFastKernelsWithoutAvx512) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  CommandOptions given = options();
  given.environment["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  given.environment["ONEDNN_VERBOSE"] = "1";
  const CommandResult result = cli_test::run(
      trainyard("bench --network lenet --batch 2 --steps 1 --warmup 0 --no-peak --threads 1"), given);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  int dense = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(",inner_product,") == std::string::npos) continue;
    ++dense;
    EXPECT_EQ(line.find(",ref:"), std::string::npos) << line;
  }
  EXPECT_GE(dense, 6) << "two layers, three passes; oneDNN tells of each";
}

// As on a machine that announces tiles and does not run them: trials die, the program does not.
class FaultyMachineTest : public CliTest {
 protected:
  CommandResult run_faulty(const std::string& arguments, const std::string& faulty = "AVX") const {
    CommandOptions given = options();
    given.environment["TRAINYARD_FAULTY_ISA"] = faulty;
    return cli_test::run(trainyard(arguments), given);
  }
};

TEST_F(FaultyMachineTest, ProbeSurvivesAndSaysSo) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  const CommandResult text = run_faulty("probe --threads 1 --seconds 0.001");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("instructions                 SSE41; a process that tried "), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find(" died of signal 4 (Illegal instruction)"), std::string::npos) << text.out;
  const Json report = parse_json(run_faulty("probe --threads 1 --seconds 0.001 --json").out);
  EXPECT_EQ(report["kernel_isa"]["name"], "SSE41");
  EXPECT_EQ(report["kernel_isa"]["reason"], "died of signal 4 (Illegal instruction)");
  EXPECT_EQ(report["kernel_isa"]["refused"], report["provenance"]["cpu"]["refused_isa"]);
  EXPECT_EQ(report["provenance"]["cpu"]["kernel_isa"], "SSE41");
  const Json machine = parse_json(run_faulty("probe --machine --json").out);
  EXPECT_EQ(machine["provenance"]["cpu"]["kernel_isa"], "SSE41");
}

TEST_F(FaultyMachineTest, RecordsSaySoInChildrenToo) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  const CommandResult bench = run_faulty("bench --network lenet --batch 2 --steps 2 --no-peak --json");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const Json record = parse_json(bench.out);
  EXPECT_EQ(record["provenance"]["cpu"]["kernel_isa"], "SSE41");
  bool warned = false;
  for (const Json& warning : record["warnings"])
    warned = warned || warning["text"].get<std::string>().starts_with("oneDNN is kept to SSE41: ");
  EXPECT_TRUE(warned) << json_text(record["warnings"]);
  EXPECT_EQ(record["provenance"]["environment"]["TRAINYARD_FAULTY_ISA"], "AVX");
  EXPECT_FALSE(record["provenance"]["environment"].contains("TRAINYARD_INTERNAL_ISA"));
  const Json sound = parse_json(run("bench --network lenet --batch 2 --steps 2 --no-peak --json").out);
  EXPECT_FALSE(sound["provenance"]["cpu"].contains("refused_isa"));
  EXPECT_TRUE(sound["provenance"]["cpu"].contains("kernel_isa"));
}

TEST_F(FaultyMachineTest, AMachineThatRunsNothingIsOneLine) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  expect_failed(run_faulty("bench --network lenet --steps 2", "SSE41"), 1,
                "CPU kernels: a process that tried them died");
  EXPECT_EQ(run_faulty("bench --network lenet --batch 2 --steps 2 --backend reference --no-peak", "SSE41")
                .exit_code,
            0);
}

}  // namespace
}  // namespace trainyard::cli_test
