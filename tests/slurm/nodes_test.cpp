// Studies that ask for several nodes use them, or are refused; what is in the queue is told from what is
// missing.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/run_command.h"
#include "comm/collective/collective.h"
#include "slurm/slurm_fixture.h"
#include "store/store.h"

namespace trainyard::slurm_test {
namespace {

class NodesTest : public SlurmTest {
 protected:
  cli_test::CommandOptions here() const { return {file("").parent_path(), {}}; }
  cli_test::CommandResult trainyard(const std::string& words) const {
    return cli_test::run(cli_test::trainyard(words), here());
  }
  cli_test::CommandResult run_study(const std::string& yaml, const std::string& more = "") const {
    return trainyard(fmt::format("study run {} --launcher slurm --quiet --out {} {}",
                                 write("study.yaml", yaml).string(), folder().path.string(), more));
  }
  std::vector<record::RunRecord> runs() const {
    return store::Store(folder().store(), store::Store::Access::read).runs();
  }
  static std::set<std::string> nodes_of(const record::RunRecord& run) {
    std::set<std::string> nodes;
    if (const auto hosts = run.details.find("hosts"); hosts != run.details.end())
      for (const Json& host : parse_json(hosts->second)) nodes.insert(host["name"].get<std::string>());
    return nodes;
  }
  static bool warns_of(const record::RunRecord& run, const std::string& kind) {
    return std::any_of(run.warnings.begin(), run.warnings.end(),
                       [&](const record::Warning& warning) { return warning.kind == kind; });
  }
  template <typename Condition>
  static bool eventually(double seconds, const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  const std::set<std::string> both_{"n1", "n2"};
};

TEST_F(NodesTest, WorkersOfEveryStrategyAreOnBothNodes) {
  if (!comm::collective::mpi_is_built()) GTEST_SKIP() << "built without MPI";
  const cli_test::CommandResult result = run_study(
      "study: two\nrun: train\norder: nested\n"
      "settings: {network: lenet, batch: 4, steps: 4, no_eval: true, devices: 2, scaling: weak, nodes: 2, "
      "threads: 2}\n"
      "axes: {strategy: [bsp, allreduce]}\ntime_limit: 60s\n");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  std::map<std::string, record::RunRecord> by_strategy;
  for (const record::RunRecord& run : runs()) by_strategy[record::to_text(run.asked.at("strategy"))] = run;
  ASSERT_EQ(by_strategy.size(), 2u);
  for (const auto& [strategy, run] : by_strategy) {
    SCOPED_TRACE(strategy);
    EXPECT_EQ(run.status, record::Status::ok) << run.reason;
    EXPECT_EQ(nodes_of(run), both_);
    EXPECT_EQ(run.figure_or("nodes_used", 0), 2);
    EXPECT_EQ(run.figure_or("devices_used", 0), 2);
    EXPECT_FALSE(warns_of(run, "nodes"));
    EXPECT_FALSE(warns_of(run, "devices"));
  }
  EXPECT_EQ(by_strategy["bsp"].words.at("transport"), "tcp");
  EXPECT_EQ(by_strategy["allreduce"].words.at("collective"), "mpi");
}

TEST_F(NodesTest, MembersOfAnEnsembleAreOnBothNodes) {
  if (!comm::collective::mpi_is_built()) GTEST_SKIP() << "built without MPI";
  ASSERT_EQ(
      trainyard("data pack synthetic --to photos --images 60 --classes 2 --pixels 32..40 --quiet").exit_code,
      0);
  write("two.yaml",
        "data: photos\npreprocess: {name: cifarnet_slim, size: 16}\nqueues: {block: 8, made: 32, ahead: "
        "32}\nsteps: 4\n"
        "members:\n  - {network: lenet, batch: 4, threads: 1, count: 2}\n");
  const std::string study =
      "study: pair\nrun: ensemble\ntime_limit: 60s\nsettings: {ensemble: two.yaml, nodes: 2, ";
  const cli_test::CommandResult result = run_study(study + "design: all-shared}\n");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::vector<record::RunRecord> left = runs();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(nodes_of(left[0]), both_);
  EXPECT_FALSE(warns_of(left[0], "nodes"));
  const cli_test::CommandResult shared = run_study(study + "design: shared-memory}\n");
  EXPECT_EQ(shared.exit_code, 1);
  EXPECT_NE(shared.err.find("design shared-memory are on one machine: 1 of 1 cells can never run"),
            std::string::npos)
      << shared.err;
}

TEST_F(NodesTest, WhatCannotUseSeveralIsRefusedAndAProgramThatMayNotIsWarnedOf) {
  const cli_test::CommandResult towers = run_study(
      "study: towers\nrun: train\nsettings: {nodes: 2, devices: 2, strategy: towers-host, scaling: weak}\n");
  EXPECT_EQ(towers.exit_code, 1);
  EXPECT_NE(towers.err.find("2 nodes asked for: strategy towers-host runs in one process, on one"),
            std::string::npos)
      << towers.err;
  const cli_test::CommandResult alone =
      run_study("study: alone\nrun: program\nprogram: ['true']\nsettings: {nodes: 2}\n");
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_NE(alone.out.find("nothing says that it used the others"), std::string::npos) << alone.out;
}

TEST_F(NodesTest, StatusTellsQueuedRunningAndMissingApart) {
  const std::string study =
      write("queue.yaml",
            "study: queue\nrun: program\nprogram: [sleep, '{seconds}']\n"
            "settings: {nodes: 2, cpus_per_task: 4}\naxes: {seconds: [40.1, 40.2, 40.3]}\n")
          .string();
  cli_test::Command parent(cli_test::trainyard(fmt::format("study run {} --launcher slurm --quiet --out {}",
                                                           study, folder().path.string())),
                           here());
  const std::string ask = fmt::format("study status {} --json", folder().path.string());
  Json status;
  EXPECT_TRUE(eventually(100, [&] {
    if (!std::filesystem::exists(folder().store())) return false;
    status = parse_json_or_discard(trainyard(ask).out);
    return status.is_object() && status["running"] == 1 && status["queued"] == 2;
  })) << status;
  EXPECT_EQ(status["missing"], 0) << status;
  std::multiset<std::string> words;
  for (const Json& run : status["runs"]) words.insert(run["status"].get<std::string>());
  EXPECT_EQ(words, (std::multiset<std::string>{"queued", "queued", "running"}));
  EXPECT_NE(
      trainyard("study status " + folder().path.string()).out.find("0 done, 1 running, 2 queued, 0 missing"),
      std::string::npos);
  parent.signal(SIGINT);
  parent.wait();
  // The job that takes records in is of some minutes, on clusters that refuse jobs without a limit, too.
  bool has_limit = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder().slurm()))
    if (entry.path().filename() == "collect.sh")
      has_limit = content_of(std::filesystem::relative(entry.path(), file(""))).find("#SBATCH --time=10\n") !=
                  std::string::npos;
  EXPECT_TRUE(has_limit);
  trainyard("study cancel " + folder().path.string());
  EXPECT_TRUE(eventually(100, [&] {
    status = parse_json_or_discard(trainyard(ask).out);
    return status.is_object() && status["running"] == 0 && status["queued"] == 0;
  })) << status;
  // The job that takes records in may have been faster: then they are known to be cancelled.
  EXPECT_EQ(status["missing"].get<int>() + status["failed"].value("cancelled", 0), 3) << status;
}

TEST_F(NodesTest, CleanUpRunsWhenSlurmEndsARun) {
  study::Job endless = job("endless", "sleep 100");
  const std::string notes = file("notes").string();
  endless.setup = {{"/bin/sh", "-c", "echo set up >> " + notes}};
  endless.cleanup = {{"/bin/sh", "-c", "echo cleaned up >> " + notes}};
  bool cancelled = false;
  const Records records = run({endless}, options(), [&] {
    const auto id = slurm_id(endless.run_id);
    if (cancelled || !id || !std::filesystem::exists(folder().log(endless.run_id))) return;
    cancelled = true;
    run_line({"scancel", *id});
  });
  EXPECT_EQ(records.at("endless").status, record::Status::cancelled) << records.at("endless").reason;
  EXPECT_TRUE(eventually(100, [&] { return content_of("notes") == "set up\ncleaned up\n"; }))
      << content_of("notes");
}

}  // namespace
}  // namespace trainyard::slurm_test
