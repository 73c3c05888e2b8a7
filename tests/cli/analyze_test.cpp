// `trainyard study import` of a published sweep and `study analyze` as a user meets them.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_sweep.h"

namespace trainyard::cli_test {
namespace {

class AnalyzeTest : public CliTest {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }

  void import(const std::string& folder, const std::string& content) const {
    write(folder + ".json", content);
    const CommandResult result = run("study import " + folder + " --from " + folder + ".json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  Json analyze(const std::string& arguments) const {
    const CommandResult result = run("study analyze " + arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
};

TEST_F(AnalyzeTest, ExplainsASweep) {
  import("gpu", made_up_sweep());
  const Json found = analyze("gpu --peak-flops 1e14 --peak-bytes 1e12");
  EXPECT_EQ(found["points"], 18);
  EXPECT_EQ(found["statuses"]["oom"], 2);
  ASSERT_EQ(found["parts"].size(), 1u);
  const Json& part = found["parts"][0];
  EXPECT_EQ(part["dimensions"], Json({"layers", "width", "batch"}));
  EXPECT_EQ(found["metric"], "flops_per_second");
  EXPECT_GT(part["regression"]["weights"]["width"], 0.3);
  EXPECT_EQ(part["regression"]["points"], 16);
  EXPECT_EQ(part["heat_map"]["value"], "utilisation");
  int out_of_memory = 0;
  for (const Json& cell : part["heat_map"]["cells"]) out_of_memory += cell["status"] == "oom" ? 1 : 0;
  EXPECT_EQ(out_of_memory, 2);
  EXPECT_EQ(found["best"]["settings"]["width"], 4096);
  EXPECT_GT(found["best"]["utilisation"], 0.5);
  const Json& limits = found["limits"][0];
  EXPECT_EQ(limits["fitted_points"], 16);
  EXPECT_LT(limits["mean_relative_error"], 0.1);
  EXPECT_GE(limits["counts"]["launch"], 6);
  EXPECT_GE(limits["counts"]["compute"], 2);
  EXPECT_FALSE(found.contains("op_breakdown"));

  const CommandResult table = run("study analyze gpu --peak-flops 1e14");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* wanted : {"18 points: 16 ok, 2 oom", "R2", "width \\ batch", "limited by", "best use"})
    EXPECT_NE(table.out.find(wanted), std::string::npos) << wanted << "\n" << table.out;
}

TEST_F(AnalyzeTest, SetsTwoStudiesAgainstEachOther) {
  import("slow", made_up_sweep());
  import("fast", made_up_sweep(4));
  const Json comparison = analyze("slow fast")["comparison"];
  EXPECT_EQ(comparison["all"]["points"], 16);
  EXPECT_NEAR(comparison["all"]["max"].get<double>(), 2.828, 1e-3);  // 16 layers of 4096, batch 1024
  EXPECT_GE(comparison["all"]["min"], 1);
  EXPECT_EQ(comparison["by_dimension"]["width"].size(), 3u);
  EXPECT_GT(comparison["by_dimension"]["width"][2]["mean"], comparison["by_dimension"]["width"][0]["mean"]);
  EXPECT_GT(comparison["verdicts"]["faster"], 0);
  const CommandResult table = run("study analyze slow fast");
  EXPECT_NE(table.out.find("images_per_second of B over A"), std::string::npos) << table.out;
}

TEST_F(AnalyzeTest, TwoDevicesInOneStudyAreTwoSides) {
  const std::string head =
      "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\n";
  std::string rows;
  for (const int width : {32, 64, 128})
    rows += fmt::format(
        "Old, f32, 4, {0}, 64, 2000, 200, 1, 0.{0}, 0.1\nNew, f32, 4, {0}, 64, 2000, 200, 1, 0.016, 0.1\n",
        width);
  write("both.csv", head + rows);
  ASSERT_EQ(run("study import both --from both.csv").exit_code, 0);
  const Json comparison = analyze("both --across device=Old,New")["comparison"];
  EXPECT_EQ(comparison["all"]["points"], 3);
  EXPECT_NEAR(comparison["all"]["min"].get<double>(), 0.128 / 0.016, 1e-9);
  EXPECT_EQ(comparison["across"], Json({"device"}));
}

TEST_F(AnalyzeTest, MistakesAreOneLine) {
  import("gpu", made_up_sweep());
  expect_failure("study analyze gpu --metric flops_per_secnd", 1, "did you mean 'flops_per_second'");
  expect_failure("study analyze gpu --dimensions layers,depth", 1, "--dimensions 'depth'");
  expect_failure("study analyze gpu --across device", 1, "there are 1");
  expect_failure("study analyze gpu --across device=gpu,tpu", 1, "no run has device 'tpu'");
  expect_failure("study analyze gpu --peak-flops -1", 1, "--peak-flops");
  expect_failure("study analyze nowhere", 1, "'nowhere' is not the folder of a study");
  write("cut.json", made_up_sweep().substr(0, 500));
  expect_failure("study import cut --from cut.json", 1, "'cut.json': not JSON at byte 501 of 500");
  EXPECT_FALSE(std::filesystem::exists(work() / "cut"));
  write(
      "cut.csv",
      "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\nT4, f32\n");
  expect_failure("study import cut --from cut.csv", 1, "'cut.csv' line 2: 2 fields");
}

}  // namespace
}  // namespace trainyard::cli_test
