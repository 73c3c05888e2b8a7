#include <fmt/core.h>

#include "slurm/slurm_fixture.h"
#include "study/retry.h"

namespace trainyard::slurm_test {
namespace {

using record::Status;

class TwelveCells : public SlurmTest {
 protected:
  // Eight that end well, and four that end in four different ways.
  std::vector<study::Job> jobs() const {
    std::vector<study::Job> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(on(i % 2 == 0 ? "k80" : "p100", job(fmt::format("good{}", i), "true")));
    all.push_back(on("k80", job("slow", "sleep 100")));
    all.back().time_limit_seconds = 1.5;
    all.push_back(on("k80", job("broken", "echo no such layer >&2; exit 3")));
    all.push_back(on("v100", job("impossible", "true")));
    all.push_back(on("p100", job("unlucky", fmt::format("test -e {0} || {{ touch {0}; sleep 100; }}",
                                                        file("unlucky").string()))));
    return all;
  }

  static study::Job on(const std::string& gpu_type, study::Job job) {
    job.resources.gpu_type = gpu_type;
    job.resources.gpus_per_node = 1;
    return job;
  }

  Records run_and_cancel_the_unlucky() const {
    bool cancelled = false;
    return run(jobs(), options(), [&] {
      if (cancelled || !std::filesystem::exists(file("unlucky"))) return;
      run_line({"scancel", slurm_id("unlucky-r1-a1").value()});
      cancelled = true;
    });
  }
};

TEST_F(TwelveCells, EndAsTheyShouldAndOnlyTheCancelledOneIsRunAgain) {
  const Records first = run_and_cancel_the_unlucky();
  ASSERT_EQ(first.size(), 12u);
  for (int i = 0; i < 8; ++i) {
    const auto& run = first.at(fmt::format("good{}", i));
    EXPECT_STREQ(name(run.status), "ok") << run.reason;
    EXPECT_EQ(run.node, i % 2 == 0 ? "n1" : "n2");
  }
  const std::vector<std::tuple<std::string, Status, int, std::string, std::string>> others{
      {"slow", Status::timeout, 137, "time limit", "n1"},
      {"broken", Status::failed, 3, "exit code 3: no such layer", "n1"},
      {"impossible", Status::refused, 0, "Requested node configuration is not available", ""},
      {"unlucky", Status::cancelled, 143, "cancelled through Slurm", "n2"},
  };
  for (const auto& [cell, status, exit_code, reason, node] : others) {
    const auto& run = first.at(cell);
    EXPECT_STREQ(name(run.status), name(status)) << cell << ": " << run.reason;
    EXPECT_EQ(run.exit_code, exit_code) << cell;
    EXPECT_NE(run.reason.find(reason), std::string::npos) << cell << ": " << run.reason;
    EXPECT_EQ(run.node, node) << cell;
    EXPECT_EQ(record::read_run_record(folder().record(run.id)).reason, run.reason);
  }

  std::vector<study::Job> again;
  for (study::Job job : jobs()) {
    if (!study::runs_again(first.at(job.cell), {})) continue;
    job.attempt = 2;
    job.run_id = job.cell + "-r1-a2";
    again.push_back(job);
  }
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().cell, "unlucky");
  const Records second = run(again);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_STREQ(name(second.at("unlucky").status), "ok");
  EXPECT_EQ(second.at("unlucky").id, "unlucky-r1-a2");
}

}  // namespace
}  // namespace trainyard::slurm_test
