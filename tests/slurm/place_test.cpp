// These tests run placed jobs, through the command line, on a real Slurm.

#include <algorithm>
#include <csignal>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/made_up_runs.h"
#include "cli/run_command.h"
#include "slurm/slurm_fixture.h"
#include "study/run/progress.h"

namespace trainyard::slurm_test {
namespace {

// Two devices that are not alike: n1 has the GPUs of one type, n2 those of the other. Jobs compute on CPUs.
constexpr const char* kCluster = R"(slots:
  - {device: slow, name: left, gpu_type: k80}
  - {device: fast, name: right, gpu_type: p100}
devices:
  slow: {flops_per_second: 1e12, bytes_per_second: 1e11, memory: 8GiB, multiprocessors: 10}
  fast: {flops_per_second: 2e12, bytes_per_second: 2e11, memory: 8GiB, multiprocessors: 20}
)";

class PlaceOnSlurm : public SlurmTest {
 protected:
  void SetUp() override {
    SlurmTest::SetUp();
    if (IsSkipped()) return;
    std::filesystem::remove(folder().path);
    write("runs.csv", cli_test::made_up_runs());
    write("jobs.yaml", "jobs:\n  - {network: lenet, batch: 2, images: 4, count: 3}\n");
    write("one.yaml", "jobs:\n  - {name: lonely, network: lenet, batch: 2, images: 4}\n");
    write("cluster.yaml", kCluster);
    write("no-gpu.yaml", "slots:\n  - {device: GTX1080, run: cuda:99, gpu_type: k80}\n");
    ASSERT_EQ(start("predict fit runs.csv -o model.json --no-intervals").wait().exit_code, 0);
  }
  cli_test::Command start(const std::string& arguments) const {
    return cli_test::Command(cli_test::trainyard(arguments), {file(""), {}});
  }
  std::size_t accepted_arrays() const {
    const auto submissions = study::slurm::read_submissions(folder());
    return static_cast<std::size_t>(std::count_if(submissions.begin(), submissions.end(),
                                                  [](const auto& one) { return one.job_id != 0; }));
  }
};

// All in one test: a Slurm takes longer to start than the jobs.
TEST_F(PlaceOnSlurm, JobsRunWhereAndInTheOrderTheyWerePlacedAlsoAfterAKillAndFailuresAreSaid) {
  const std::string command =
      "place jobs.yaml --cluster cluster.yaml --model model.json --submit slurm --out study --json";
  cli_test::Command killed = start(command);
  while (accepted_arrays() == 0 && killed.running()) ::usleep(20'000);
  killed.signal(SIGKILL);
  killed.wait();
  ASSERT_GE(accepted_arrays(), 1u);

  const cli_test::CommandResult result = start(command).wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = parse_json(result.out);
  ASSERT_EQ(report["submitted"].size(), 3u);
  EXPECT_EQ(accepted_arrays(), 2u) << "one for each device, and none twice";
  const std::vector<record::RunRecord> runs = study::runs_of(folder());
  ASSERT_EQ(runs.size(), 3u);
  std::map<std::string, double> free_since;  // by slot
  for (const auto& decision : report["policies"][0]["decisions"]) {
    const auto job = decision["job"].get<std::string>(), slot = decision["slot"].get<std::string>();
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const record::RunRecord& one) {
      return one.cell.substr(4) == job;  // behind its number
    });
    ASSERT_NE(run, runs.end()) << job;
    EXPECT_STREQ(name(run->status), "ok") << run->reason;
    EXPECT_EQ(run->attempt, 1);
    EXPECT_GT(run->statistics.steps, 0);
    EXPECT_EQ(record::to_text(run->asked.at("slot")), slot);
    EXPECT_EQ(run->node, slot == "left" ? "n1" : "n2");
    EXPECT_GE(run->started_seconds, free_since[slot]) << job;
    free_since[slot] = run->started_seconds + run->wall_seconds;
  }
  EXPECT_EQ(free_since.size(), 2u) << "both devices are used";

  const cli_test::CommandResult again = start(command).wait();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(study::runs_of(folder()).size(), 3u) << "what is done is not run again";

  const cli_test::CommandResult failed =
      start("place one.yaml --cluster no-gpu.yaml --model model.json --submit slurm --out failed --json")
          .wait();
  EXPECT_EQ(failed.exit_code, 2);
  const auto run = parse_json(failed.out)["submitted"][0];
  EXPECT_NE(run["status"], "ok");
  EXPECT_NE(run["reason"], "");
  EXPECT_EQ(run["slot"], "GTX1080");
  EXPECT_TRUE(failed.err.starts_with("trainyard: 1 of 1 jobs did not end well; 001-lonely-r1-a1: "))
      << failed.err;
  EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1) << failed.err;
}

}  // namespace
}  // namespace trainyard::slurm_test
