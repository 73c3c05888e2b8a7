// What `probe` measures is what `predict` and `place` read.

#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"
#include "predict/device.h"

namespace trainyard::cli_test {
namespace {

using Json = nlohmann::json;

using ProbeTest = CliTest;

TEST_F(ProbeTest, WhatItPrintsIsADevice) {
  const CommandResult result = run("probe --threads 1 --seconds 0.001 --name corner --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ofstream(work() / "corner.json") << result.out;
  const Json report = Json::parse(result.out);
  const Json& given = report["devices"]["corner"];
  const std::vector<predict::Device> read = predict::read_devices(work() / "corner.json");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0], (predict::Device{.name = "corner",
                                      .flops_per_second = given["flops_per_second"],
                                      .bytes_per_second = given["bytes_per_second"],
                                      .launch_seconds = given["launch_seconds"],
                                      .memory_bytes = given["memory"],
                                      .multiprocessors = 1}));
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

}  // namespace
}  // namespace trainyard::cli_test
