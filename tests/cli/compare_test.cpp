// `trainyard compare` on stores and records that are made up here.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "store/store.h"

namespace trainyard::cli_test {
namespace {

using record::RunRecord;

struct MadeUp {
  std::int64_t batch = 50, threads = 1;
  double seconds = 0.1;
  std::vector<std::string> nodes = {"here", "here", "here", "here"};  // one run on each
  double memory = 1e9, accuracy = 0.98;
};

class CompareTest : public CliTest {
 protected:
  static std::vector<RunRecord> runs_of(const MadeUp& cell) {
    std::vector<RunRecord> runs;
    for (std::size_t i = 0; i < cell.nodes.size(); ++i) {
      RunRecord run;
      run.id =
          "b" + std::to_string(cell.batch) + "t" + std::to_string(cell.threads) + "r" + std::to_string(i);
      run.command = "bench";
      run.asked = {{"network", std::string("lenet")}, {"batch", cell.batch}, {"threads", cell.threads}};
      run.node = cell.nodes[i];
      run.images_per_step = static_cast<double>(cell.batch);
      // Runs differ by a per cent or so, and nodes by a lot.
      const double level =
          cell.seconds * (1 + 0.01 * static_cast<double>(i % 3)) * static_cast<double>(run.node.size());
      for (int step = 0; step < 20; ++step) run.step_seconds.push_back(level * (1 + 0.002 * (step % 7)));
      record::summarise_steps(run);
      run.figures["peak_memory_bytes"] = cell.memory;
      run.figures["test_accuracy"] = cell.accuracy;
      run.details["accuracy_curve"] =
          fmt::format("[[{},100,0.5],[{},200,{}]]", 100 * level, 200 * level, cell.accuracy);
      runs.push_back(run);
    }
    return runs;
  }

  void write_store(const std::string& folder, const std::vector<MadeUp>& cells) const {
    std::filesystem::create_directories(work() / folder);
    store::Store store(work() / folder / store::Store::file_name(), store::Store::Access::write);
    store.plan(folder, {});
    for (const MadeUp& cell : cells)
      for (const RunRecord& run : runs_of(cell)) store.add(run);
  }

  Json compare(const std::string& arguments, int exit_code) const {
    const CommandResult result = run("compare " + arguments + " --json");
    EXPECT_EQ(result.exit_code, exit_code) << result.err << result.out;
    return parse_json(result.out);
  }
};

TEST_F(CompareTest, AStudyIsTheSameAsItself) {
  write_store("a", {{}, {.batch = 64}});
  const Json json = compare("a a", 0);
  ASSERT_EQ(json["cells"].size(), 2u);
  EXPECT_EQ(json["verdicts"]["SAME"], 2);
  EXPECT_EQ(json["cells"][0]["ratio"], 1);
  EXPECT_EQ(json["cells"][0]["paired_by"], "runs");
}

TEST_F(CompareTest, ASlowerCellGivesExitCodeThree) {
  write_store("a", {{}, {.batch = 64}});
  write_store("b", {{.seconds = 0.12}, {.batch = 64}});
  const Json json = compare("a b", 3);
  EXPECT_EQ(json["cells"][0]["verdict"], "SLOWER");
  EXPECT_NEAR(json["cells"][0]["ratio"].get<double>(), 1 / 1.2, 0.01);
  EXPECT_EQ(json["cells"][1]["verdict"], "SAME");
  EXPECT_EQ(compare("b a", 0)["cells"][0]["verdict"], "FASTER");

  const CommandResult table = run("compare a b");
  EXPECT_EQ(table.exit_code, 3);
  EXPECT_NE(table.out.find("SLOWER"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("2 cells: 1 same, 0 faster, 1 slower"), std::string::npos) << table.out;
}

TEST_F(CompareTest, CellsThatDifferAreNotCompared) {
  write_store("a", {{}, {.threads = 2}});
  write_store("b", {{}, {.threads = 4}});
  const Json json = compare("a b", 0);
  EXPECT_EQ(json["cells"].size(), 1u);
  ASSERT_EQ(json["not_compared"].size(), 2u);
  EXPECT_EQ(json["not_compared"][0]["nearest_differs_in"][0]["name"], "threads");

  write_store("c", {{.batch = 32, .threads = 8}});
  expect_failure("compare a c", 1, "batch (50 / 32), threads (1 / 8)");
  EXPECT_EQ(compare("a c --across threads --across batch", 3)["cells"].size(), 2u);
}

TEST_F(CompareTest, AcrossComparesWithinOneStudy) {
  write_store("a", {{}, {.threads = 2, .seconds = 0.05}, {.threads = 4, .seconds = 0.2}, {.batch = 64}});
  const Json two = compare("a --across threads=1,2", 0);
  ASSERT_EQ(two["cells"].size(), 1u);
  EXPECT_EQ(two["cells"][0]["verdict"], "FASTER");
  EXPECT_EQ(two["cells"][0]["settings_b"]["threads"], 2);
  const Json all = compare("a --across threads", 3);
  EXPECT_EQ(all["cells"].size(), 2u);
  EXPECT_NE(run("compare a --across threads=1,2").out.find("1 -> 2"), std::string::npos);
}

TEST_F(CompareTest, AcrossTwoSettingsComparesWithinOneStudy) {
  write_store("a", {{}, {.batch = 64, .threads = 2, .seconds = 0.05}, {.batch = 64}, {.threads = 2}});
  const Json json = compare("a --across threads=1,2 --across batch=50,64", 0);
  ASSERT_EQ(json["cells"].size(), 1u);
  EXPECT_EQ(json["cells"][0]["settings_a"]["batch"], 50);
  EXPECT_EQ(json["cells"][0]["settings_b"]["batch"], 64);
  EXPECT_EQ(json["cells"][0]["settings_b"]["threads"], 2);
  EXPECT_EQ(json["cells"][0]["verdict"], "FASTER");
}

TEST_F(CompareTest, ManyCellsOfOneSideAreSummedUp) {
  std::vector<MadeUp> many{{}};
  for (int batch = 100; batch < 198; ++batch) many.push_back({.batch = batch, .nodes = {"here"}});
  write_store("a", many);
  write_store("b", {{}});
  const std::string table = run("compare a b").out;
  EXPECT_NE(table.find("only in A: 98 cells"), std::string::npos) << table;
  EXPECT_NE(table.find("98 of them: the nearest of the other side differs in batch"), std::string::npos)
      << table;
  EXPECT_LT(std::count(table.begin(), table.end(), '\n'), 15) << table;
  EXPECT_EQ(compare("a b", 0)["not_compared"].size(), 98u);
}

TEST_F(CompareTest, AnyMetricIsCompared) {
  write_store("a", {{}});
  write_store("b", {{.seconds = 0.05, .memory = 2e9, .accuracy = 0.9}});
  EXPECT_EQ(compare("a b", 0)["cells"][0]["verdict"], "FASTER");
  const Json memory = compare("a b --metric peak_memory_bytes", 3);
  EXPECT_EQ(memory["cells"][0]["verdict"], "WORSE");
  EXPECT_NEAR(memory["cells"][0]["value_b"].get<double>(), 2e9, 1);
  EXPECT_EQ(memory["metric"], "peak_memory_bytes");
  EXPECT_EQ(compare("a b --metric p95_step_seconds", 0)["cells"][0]["verdict"], "FASTER");
  EXPECT_EQ(compare("a b --metric seconds_to_accuracy --accuracy 0.85", 0)["cells"][0]["verdict"], "FASTER");
  const Json missed = compare("a b --accuracy 0.97", 3);
  EXPECT_EQ(missed["cells"][0]["verdict"], "SLOWER");
  EXPECT_NE(missed["cells"][0]["note"].get<std::string>().find("test accuracy 0.9"), std::string::npos);
  expect_failure("compare a b --metric peak_memory", 1, "did you mean 'peak_memory_bytes'");
  expect_failure("compare a b --metric seconds_to_accuracy", 1, "an accuracy to reach is expected");
  expect_failure("compare a b --accuracy 97", 1, "a number from 0 to 1");
}

TEST_F(CompareTest, NodesPair) {
  // "n" is fast and "nnnn" slow; B was lucky with its nodes.
  write_store("a", {{.nodes = {"n", "n", "nnnn", "nnnn", "nnnn"}}});
  write_store("b", {{.nodes = {"n", "n", "n", "nnnn", "other"}}});
  const Json json = compare("a b", 0);
  EXPECT_EQ(json["cells"][0]["paired_by"], "nodes");
  EXPECT_EQ(json["cells"][0]["nodes"], 2);
  EXPECT_NEAR(json["cells"][0]["ratio"].get<double>(), 1, 0.03);

  write_store("c", {{.nodes = {"elsewhere"}}});
  EXPECT_EQ(compare("a c", 0)["cells"][0]["verdict"], "UNCLEAR");
}

TEST_F(CompareTest, RecordsAndStoresAreTaken) {
  std::vector<RunRecord> runs = runs_of({.nodes = {"here"}});
  record::write_run_record(runs.front(), work() / "before.json");
  for (double& seconds : runs.front().step_seconds) seconds *= 3;
  record::summarise_steps(runs.front());
  record::write_run_record(runs.front(), work() / "after.json");
  const Json json = compare("before.json after.json", 3);
  EXPECT_EQ(json["cells"][0]["paired_by"], "steps");
  EXPECT_NE(json["cells"][0]["note"].get<std::string>().find("unknown"), std::string::npos);

  write_store("a", {{}});
  EXPECT_EQ(compare(std::string("before.json a/") + store::Store::file_name(), 0)["cells"].size(), 1u);
}

TEST_F(CompareTest, MistakesAreNamed) {
  write_store("a", {{}});
  std::filesystem::create_directories(work() / "empty");
  expect_failure("compare a nowhere", 1, "there is no 'nowhere'");
  expect_failure("compare a empty", 1, "'empty' is not the folder of a study");
  expect_failure("compare a", 1, "--across KEY");
  expect_failure("compare a --across thread", 1, "did you mean 'threads'");
  expect_failure("compare a --across threads", 1, "nothing to compare");
  expect_failure("compare a --across threads=1,7", 1, "no run with 7");
  expect_failure("compare a --across threads=1", 1, "KEY=VALUE,VALUE");
  expect_failure("compare a a --minimum-effect -1", 1, "--minimum-effect");
}

// Stopped for 0.1 s of every 0.25 s or so, the headline must say so; the median step hardly notices.
TEST_F(CompareTest, StallsShowInTheHeadline) {
  Command command(
      trainyard("bench --network lenet --batch 2 --threads 1 --warmup 1 --no-peak --steps 1000000 "
                "--max-seconds 3 --json"),
      options());
  while (command.running()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    command.signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    command.signal(SIGCONT);
  }
  const CommandResult stopped = command.wait();
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  const Json run = parse_json(stopped.out);
  EXPECT_LT(run["images_per_second"].get<double>(), 0.8 * run["median_images_per_second"].get<double>());
}

TEST_F(CompareTest, BenchStopsWhenItsIntervalIsNarrow) {
  // On one core: other tests run beside this one, and a step on all cores waits for the slowest.
  const Json wide = parse_json(run("bench --network lenet --batch 2 --threads 1 --warmup 1 --no-peak "
                                   "--steps 2000 --until-width 0.5 --json")
                                   .out);
  EXPECT_EQ(wide["stopped_by"], "width");
  EXPECT_GE(wide["steps"], 20);
  EXPECT_LT(wide["steps"], 2000);
  const Json timed = parse_json(run("bench --network lenet --batch 2 --threads 1 --warmup 1 --no-peak "
                                    "--steps 1000000 --max-seconds 0.2 --json")
                                    .out);
  EXPECT_EQ(timed["stopped_by"], "seconds");
  EXPECT_EQ(parse_json(run("bench --network lenet --batch 2 --no-peak --steps 3 --json").out)["stopped_by"],
            "steps");
  expect_failure("bench --network lenet --until-width 2", 1,
                 "--until-width: '2' given, a number above 0 and below 1 expected");
  expect_failure("bench --network lenet --max-seconds -1", 1, "--max-seconds: '-1' given");
}

}  // namespace
}  // namespace trainyard::cli_test
