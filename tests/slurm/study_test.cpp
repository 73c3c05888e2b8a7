// These tests run studies from a YAML file, through the command line, on a real Slurm.

#include <chrono>
#include <csignal>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/run_command.h"
#include "slurm/slurm_fixture.h"
#include "store/store.h"
#include "study/slurm/launcher.h"

namespace trainyard::slurm_test {
namespace {

class StudyOnSlurm : public SlurmTest {
 protected:
  cli_test::Command start(const std::string& arguments) const {
    return cli_test::Command(cli_test::trainyard(arguments), {work(), {}});
  }
  Json run_json(const std::string& arguments, int exit_code) const {
    return parsed(start(arguments).wait(), exit_code);
  }
  static Json parsed(const cli_test::CommandResult& result, int exit_code) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return parse_json_or_discard(result.out);
  }
  std::filesystem::path work() const {
    std::filesystem::create_directories(file("work"));
    return file("work");
  }

  template <typename Condition>
  static bool eventually(double seconds, const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  // The run whose log says so, as Slurm calls it.
  std::optional<std::string> slurm_id_of_run_saying(const std::string& word) const {
    if (!std::filesystem::exists(folder().logs())) return std::nullopt;
    for (const auto& entry : std::filesystem::directory_iterator(folder().logs()))
      if (content_of(std::filesystem::relative(entry.path(), file(""))) == word + "\n")
        return slurm_id(entry.path().stem().string());
    return std::nullopt;
  }
};

// Six cells on k80, five on p100, one on a GPU that there is not.
constexpr const char* kTwelve = R"(study: twelve
run: program
program: [./cell, "{does}"]
axes:
  gpu_type: [k80, p100, v100]
  does: [good1, good2, good3, good4, slow, broken, unlucky]
exclude:
  - {gpu_type: k80, does: unlucky}
  - {gpu_type: p100, does: [slow, broken]}
  - {gpu_type: v100, does: [good2, good3, good4, slow, broken, unlucky]}
time_limit: 6s
at_once: 4
)";

constexpr const char* kCell = R"(#!/bin/sh
case $1 in
  slow) sleep 100 ;;
  broken) echo no such layer >&2; exit 3 ;;
  unlucky) test -e unlucky || { touch unlucky; echo unlucky; sleep 100; } ;;
esac
)";

struct Fate {
  record::Status status;
  int exit_code;
  const char* reason;
};
constexpr Fate kGood{record::Status::ok, 0, ""}, kSlow{record::Status::timeout, 137, "time limit"},
    kBroken{record::Status::failed, 3, "exit code 3: no such layer"},
    kRefused{record::Status::refused, 0, "Requested node configuration is not available"},
    kUnlucky{record::Status::cancelled, 143, "cancelled through Slurm"};

TEST_F(StudyOnSlurm, TwelveCellsAndFourFates) {
  const auto file_of_study = write("twelve.yaml", kTwelve);
  work();
  std::filesystem::permissions(write("work/cell", kCell), std::filesystem::perms::all);
  const std::string command = fmt::format("study run {} --launcher slurm --out {} --json",
                                          file_of_study.string(), folder().path.string());

  cli_test::Command first = start(command);
  std::optional<std::string> unlucky;
  ASSERT_TRUE(eventually(100, [&] { return (unlucky = slurm_id_of_run_saying("unlucky")).has_value(); }))
      << first.wait().err;
  run_line({"scancel", *unlucky});
  Json progress = parsed(first.wait(), 2);
  EXPECT_EQ(progress["expected"], 12);
  EXPECT_EQ(progress["done"], 8);
  EXPECT_EQ(progress["missing"], 0);
  EXPECT_EQ(progress["failed"], (Json{{"cancelled", 1}, {"failed", 1}, {"refused", 1}, {"timeout", 1}}));
  for (const auto& run : store::Store(folder().store(), store::Store::Access::read).runs()) {
    const std::string does = record::to_text(run.asked.at("does")),
                      gpu = record::to_text(run.asked.at("gpu_type"));
    EXPECT_EQ(run.node, gpu == "k80" ? "n1" : gpu == "p100" ? "n2" : "") << run.id;
    const auto [status, exit_code, reason] = gpu == "v100"       ? kRefused
                                             : does == "slow"    ? kSlow
                                             : does == "broken"  ? kBroken
                                             : does == "unlucky" ? kUnlucky
                                                                 : kGood;
    EXPECT_STREQ(name(run.status), name(status)) << does << ": " << run.reason;
    EXPECT_EQ(run.exit_code, exit_code) << does;
    EXPECT_NE(run.reason.find(reason), std::string::npos) << does << ": " << run.reason;
  }

  progress = run_json(command, 2);
  EXPECT_EQ(progress["done"], 9);
  EXPECT_EQ(progress["failed"], (Json{{"failed", 1}, {"refused", 1}, {"timeout", 1}}));
  for (const auto& run : progress["runs"])
    EXPECT_EQ(run["attempts"], run["settings"]["does"] == "unlucky" ? 2 : 1) << json_text(run);

  progress = run_json(command, 2);
  EXPECT_EQ(progress["done"], 9);
  EXPECT_EQ(store::Store(folder().store(), store::Store::Access::read).runs().size(), 13u);
}

TEST_F(StudyOnSlurm, IsCompleteInTheStoreWhenItsParentWasKilled) {
  const auto file_of_study = write("lonely.yaml",
                                   "study: lonely\nrun: program\nprogram: [sleep, '{seconds}']\n"
                                   "axes: {seconds: [0.1, 0.2, 0.3, 1]}\n");
  cli_test::Command parent = start(
      fmt::format("study run {} --launcher slurm --out {}", file_of_study.string(), folder().path.string()));
  ASSERT_TRUE(eventually(100, [&] {
    return run_line({"squeue", "--noheader", "--format=%j"}).find("-collect") != std::string::npos;
  }));
  parent.signal(SIGKILL);
  parent.wait();
  EXPECT_TRUE(eventually(
      30, [&] { return store::Store(folder().store(), store::Store::Access::read).runs().size() == 4; }));
  const Json status = run_json(fmt::format("study status {} --json", folder().path.string()), 0);
  EXPECT_EQ(status["done"], 4);
  EXPECT_EQ(status["missing"], 0);
}

TEST_F(StudyOnSlurm, BenchesOnItsNodesAndSaysWhatTheyAre) {
  const auto file_of_study = write("bench.yaml",
                                   "study: bench\nrun: bench\n"
                                   "settings: {network: lenet, steps: 3, warmup: 1, batch: 4, threads: 1}\n"
                                   "axes: {partition: [shared, exclusive]}\ntime_limit: 50s\n");
  const Json progress = run_json(fmt::format("study run {} --launcher slurm --out {} --json",
                                             file_of_study.string(), folder().path.string()),
                                 0);
  EXPECT_EQ(progress["done"], 2);
  for (const auto& run : store::Store(folder().store(), store::Store::Access::read).runs()) {
    EXPECT_EQ(run.statistics.steps, 3);
    EXPECT_TRUE(run.node == "n1" || run.node == "n2") << run.node;
    bool flagged = false;
    for (const record::Warning& warning : run.warnings)
      flagged |= warning.text.find("asked for 1 CPUs on a node, was given 4") != std::string::npos;
    EXPECT_EQ(flagged, record::to_text(run.asked.at("partition")) == "exclusive");
    EXPECT_EQ(record::to_text(*find_fact(run.provenance, "slurm", "partition")),
              record::to_text(run.asked.at("partition")));
  }
}

TEST_F(StudyOnSlurm, AMemoryHogIsOutOfMemory) {
  const auto file_of_study = write("hog.yaml",
                                   "study: hog\nrun: bench\nmemory_limit: 512MiB\ntime_limit: 50s\n"
                                   "settings: {network: vgg16, steps: 1, threads: 1, no_peak: true}\n"
                                   "axes: {batch: [4]}\n");
  const Json progress = run_json(fmt::format("study run {} --launcher slurm --out {} --json",
                                             file_of_study.string(), folder().path.string()),
                                 2);
  EXPECT_EQ(json_text(progress["failed"]), R"({"oom":1})") << json_text(progress);
}

}  // namespace
}  // namespace trainyard::slurm_test
