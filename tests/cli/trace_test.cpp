// Traces of real steps, as a user makes and reads them.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "trace/test_rules.h"

namespace trainyard::cli_test {
namespace {

class TraceTest : public CliTest {
 protected:
  std::string text_of(const std::string& file) const {
    std::ifstream stream(work() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(work() / file, std::ios::binary) << text;
  }
  Json summary_of(const std::string& file) const {
    const CommandResult result = run("trace summarize " + file + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
};

double sum(const Json& shares) {
  double seconds = 0;
  for (const Json& each : shares) seconds += each["seconds"].get<double>();
  return seconds;
}

TEST_F(TraceTest, OfABenchKeepsTheRulesAndAddsUpToTheStep) {
  const CommandResult bench =
      run("bench --network lenet --batch 64 --steps 30 --no-peak --json --trace lenet.json --trace-steps 9");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const Json record = parse_json(bench.out);
  EXPECT_EQ(record["trace"], "lenet.json");
  EXPECT_EQ(record["steps"], 30);
  EXPECT_EQ(trace::broken_rules(text_of("lenet.json")), std::vector<std::string>());

  const Json summary = summary_of("lenet.json");
  EXPECT_EQ(summary["facts"]["network"], "lenet");
  ASSERT_EQ(summary["steps"].size(), 9u);
  std::vector<double> steps;
  double least_idle = 1;
  for (const Json& step : summary["steps"]) {
    steps.push_back(sum(step["by_category"]));
    least_idle = std::min(least_idle, step["by_category"]["idle"]["share"].get<double>());
    EXPECT_NEAR(steps.back(), step["seconds"].get<double>(), 1e-9);
  }
  // Against steps that were timed by another clock's readings, without a trace. Wide: tests share a machine.
  std::sort(steps.begin(), steps.end());
  const double ratio = steps[4] / record["step_seconds"]["median"].get<double>();
  EXPECT_GT(ratio, 0.25);
  EXPECT_LT(ratio, 4);
  EXPECT_LT(least_idle, 0.02);  // but for the others on the machine, ops are all of a step
  double flops = 0;
  for (const Json& op : summary["by_op"]) flops += op["flops"].get<double>();
  EXPECT_EQ(flops, 9 * record["flops_per_step"].get<double>());
}

TEST_F(TraceTest, OfATrainingHasTheStepsAskedFor) {
  const CommandResult train =
      run("train --network lenet --data synthetic --batch 16 --steps 20 --no-eval --json --trace t.json "
          "--trace-steps 12..13");
  ASSERT_EQ(train.exit_code, 0) << train.err;
  EXPECT_EQ(trace::broken_rules(text_of("t.json")), std::vector<std::string>());
  const Json summary = summary_of("t.json");
  ASSERT_EQ(summary["steps"].size(), 2u);
  EXPECT_EQ(summary["steps"][0]["step"], "step 12");
  EXPECT_EQ(summary["plain_step_seconds"].size(), 2u);
  EXPECT_GT(summary["infeed_share"].get<double>(), 0);
}

TEST_F(TraceTest, OfWorkersWithServersHasAFileForEach) {
  const CommandResult train =
      run("train --network lenet --data synthetic --batch 8 --steps 40 --workers 2 --servers 1 --mode asp "
          "--no-eval --json --trace ps.json --trace-steps 2");
  ASSERT_EQ(train.exit_code, 0) << train.err;
  for (const char* file : {"ps.worker-0.json", "ps.worker-1.json"}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(trace::broken_rules(text_of(file)), std::vector<std::string>());
    EXPECT_GT(summary_of(file)["by_category"]["communication"]["seconds"].get<double>(), 0);
  }
}

TEST_F(TraceTest, DiffTellsWhatBecameSlower) {
  write("a.json", R"([{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":0,"ts":0,"dur":5},
                      {"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":0,"ts":5,"dur":1}])");
  write("b.json", R"([{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":0,"ts":0,"dur":5},
                      {"ph":"X","cat":"kernel","name":"tanh","pid":0,"tid":0,"ts":8,"dur":4}])");
  const CommandResult result = run("trace diff a.json b.json --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json diff = parse_json(result.out);
  EXPECT_NEAR(diff["seconds"]["a_seconds"].get<double>(), 6e-6, 1e-12);
  EXPECT_NEAR(diff["seconds"]["difference_seconds"].get<double>(), 6e-6, 1e-12);
  ASSERT_EQ(diff["by_category"].size(), 3u);  // elementwise +3 us, idle +3 us, gemm
  EXPECT_EQ(diff["by_category"][2]["name"], "gemm");
  EXPECT_EQ(diff["by_op"][0]["name"], "tanh");
  EXPECT_NEAR(diff["by_op"][0]["difference_seconds"].get<double>(), 4e-6, 1e-12);
  EXPECT_NEAR(diff["by_op"][1]["difference_seconds"].get<double>(), -1e-6, 1e-12);
  expect_failure("trace diff a.json none.json", 1, "'none.json': cannot be read");
}

TEST_F(TraceTest, MistakesAreOneLine) {
  expect_failure("bench --trace t.json --trace-steps 0", 1, "--trace-steps '0': a number of steps from 1");
  expect_failure("bench --trace t.json --trace-steps 9..7", 1, "--trace-steps '9..7': FIRST..LAST");
  expect_failure("bench --trace t.json --trace-steps 1..x", 1, "FIRST..LAST");
  expect_failure("bench --trace-steps 3", 1, "--trace-steps requires --trace");
  expect_failure("bench --trace no/t.json", 1, "there is no folder 'no'");
  expect_failure(
      "bench --network lenet --batch 2 --steps 5 --warmup 0 --no-peak --trace t.json --trace-steps 4..5", 1,
      "--trace-steps 4..5: this run has steps 0..4");
  expect_failure("bench --network lenet --devices 2 --strategy independent --trace t.json", 1, "independent");
  EXPECT_FALSE(std::filesystem::exists(work() / "t.json"));

  expect_failure("trace summarize none.json", 1, "'none.json': cannot be read");
  write("cut.json", R"({"traceEvents":[{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph)");
  expect_failure("trace summarize cut.json", 1, "damaged JSON");
  write("record.json", R"({"schema":1,"steps":3})");
  expect_failure("trace summarize record.json", 1, "\"traceEvents\"");
  write("negative.json", R"([{"ph":"X","ts":1,"dur":-2,"name":"a","cat":"kernel"}])");
  expect_failure("trace summarize negative.json", 1, "must not be negative");
  write("idle.json", R"([{"ph":"X","ts":1,"dur":2,"name":"a","cat":"python_function"}])");
  expect_failure("trace summarize idle.json", 1, "nothing computes");
  write("deep.json", std::string(1 << 20, '['));
  expect_failure("trace summarize deep.json", 1, "nested deeper");
  expect_failure("trace sumarize", 1,
                 "'sumarize' is no command of trainyard trace (did you mean 'summarize'?)");
  expect_failure("trace", 1, "trainyard trace wants a command: one of summarize, diff");
}

TEST_F(TraceTest, OpsOfAStepAreInTheRecord) {
  const CommandResult bench = run("bench --network lenet --batch 64 --steps 20 --no-peak --ops --json");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const Json record = parse_json(bench.out);
  double seconds = 0, flops = 0;
  for (const Json& row : record["ops"]["by_op"]) {
    seconds += row["seconds"].get<double>();
    flops += row["flops"].get<double>();
  }
  EXPECT_NEAR(seconds, record["op_seconds"].get<double>(), 1e-9);
  EXPECT_NEAR(sum(record["ops"]["by_category"]), seconds, 1e-9);
  EXPECT_EQ(flops, record["flops_per_step"].get<double>());
  EXPECT_GT(record["op_coverage"].get<double>(), 0.25);
  EXPECT_LT(record["op_coverage"].get<double>(), 4);
}

}  // namespace
}  // namespace trainyard::cli_test
