#include "study/run/progress.h"

#include <gtest/gtest.h>

namespace trainyard::study {
namespace {

record::RunRecord on_nodes(double nodes, double devices) {
  record::RunRecord run;
  run.node = "n1";
  run.figures = {{"nodes_used", nodes}, {"devices_used", devices}, {"threads", 2}};
  run.details["hosts"] = R"([{"name":"n1","workers":2}])";
  return run;
}

std::vector<std::string> texts(const record::RunRecord& run) {
  std::vector<std::string> all;
  for (const record::Warning& warning : run.warnings) all.push_back(warning.kind + ": " + warning.text);
  return all;
}

TEST(ResourceUse, FewerNodesThanAskedForAreNamed) {
  Job job;
  job.kind = "train";
  job.resources.nodes = 2;
  job.settings["devices"] = std::int64_t{2};
  record::RunRecord both = on_nodes(2, 2), one = on_nodes(1, 2), lost = on_nodes(2, 1), silent;
  for (record::RunRecord* run : {&both, &one, &lost, &silent}) check_use(job, *run);
  EXPECT_EQ(texts(both), std::vector<std::string>{});
  EXPECT_EQ(texts(one), std::vector<std::string>{"nodes: 2 nodes asked for, 1 did work: n1"});
  EXPECT_EQ(texts(lost), std::vector<std::string>{"devices: 2 devices asked for, 1 did work"});
  EXPECT_EQ(texts(silent),
            std::vector<std::string>{"nodes: 2 nodes asked for; it was started on the first, and "
                                     "nothing says that it used the others"});
  job.kind = "program";
  job.command = {"/usr/bin/srun", "hostname"};
  record::RunRecord of_srun;
  check_use(job, of_srun);
  EXPECT_EQ(texts(of_srun), std::vector<std::string>{});
}

TEST(ResourceUse, CpusThatTheStudyNamesAndNoThreadUsesAreNamed) {
  Job job;
  job.kind = "bench";
  job.resources.cpus_per_task = 4;
  record::RunRecord run = on_nodes(1, 1);
  check_use(job, run);
  EXPECT_EQ(texts(run), std::vector<std::string>{}) << "by default they follow the threads";
  job.settings["cpus_per_task"] = std::int64_t{4};
  check_use(job, run);
  EXPECT_EQ(texts(run), std::vector<std::string>{"cores: 4 CPUs asked for, 2 threads ran"});
}

TEST(ResourceUse, GpusThatNeverWorkedAreNamed) {
  Job job;
  job.resources.gpus_per_node = 2;
  const meter::GpuActivity::Gpu busy{0, "H200", 20, 0.9}, idle{1, "H200", 20, 0.02};
  record::RunRecord both, one, brief;
  check_gpus(job, {busy, busy}, both);
  check_gpus(job, {busy, idle}, one);
  check_gpus(job, {busy, {1, "H200", 3, 0}}, brief);
  EXPECT_EQ(texts(both), std::vector<std::string>{});
  EXPECT_EQ(both.figure_or("gpus_used", 0), 2);
  EXPECT_EQ(texts(one),
            std::vector<std::string>{"gpus: 2 GPUs asked for, 1 did work; idle all the time: GPU 1 (H200)"});
  EXPECT_EQ(texts(brief), std::vector<std::string>{}) << "too short for the driver to count";
  job.resources.gpus_per_node = 1;  // a machine may have more than were asked for
  record::RunRecord enough;
  check_gpus(job, {busy, idle}, enough);
  EXPECT_EQ(texts(enough), std::vector<std::string>{});
}

}  // namespace
}  // namespace trainyard::study
