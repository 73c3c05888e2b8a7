#include "slurm/slurm_fixture.h"

#include <cstdlib>
#include <sstream>

#include <fmt/core.h>

#include "study/slurm/cluster.h"

namespace trainyard::slurm_test {

namespace fs = std::filesystem;

void SlurmTest::SetUp() {
  path_before_ = std::getenv("PATH");
  if (const std::string obstacle = PrivateCluster::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  cluster_ = std::make_unique<PrivateCluster>();
  fs::create_directories(folder().path);
}

void SlurmTest::TearDown() { ::setenv("PATH", path_before_.c_str(), 1); }

std::string SlurmTest::content_of(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(file(name), std::ios::binary).rdbuf();
  return text.str();
}

study::Job SlurmTest::job(const std::string& cell, const std::string& script, int attempt) const {
  study::Job job;
  job.study = "twelve";
  job.cell = cell;
  job.attempt = attempt;
  job.run_id = fmt::format("{}-r1-a{}", cell, attempt);
  job.kind = "program";
  job.settings = {{"cell", cell}};
  job.command = {"/bin/sh", "-c", script};
  return job;
}

study::slurm::LauncherOptions SlurmTest::options() const {
  study::slurm::LauncherOptions options;
  options.submit.trainyard = fs::read_symlink("/proc/self/exe");
  options.submit.work_folder = folder_.path();
  options.poll_seconds = 0.2;
  options.longest_poll_seconds = 0.5;
  options.grace_seconds = 1;
  options.collector = false;
  return options;
}

Records SlurmTest::run(const std::vector<study::Job>& jobs, const study::slurm::LauncherOptions& options,
                       const std::function<void()>& meanwhile) const {
  Records records;
  study::slurm::SlurmLauncher launcher(folder(), options);
  launcher.run(
      jobs,
      [&](const record::RunRecord& run) {
        EXPECT_TRUE(records.emplace(run.cell, run).second) << run.cell << " ended twice";
      },
      [&] {
        meanwhile();
        return false;
      });
  return records;
}

std::optional<std::string> SlurmTest::slurm_id(const std::string& run_id) const {
  for (const auto& submission : study::slurm::read_submissions(folder()))
    for (std::size_t task = 0; task < submission.run_ids.size(); ++task)
      if (submission.run_ids[task] == run_id && submission.job_id != 0)
        return fmt::format("{}_{}", submission.job_id, task);
  return std::nullopt;
}

void SlurmTest::shadow(const std::string& program, const std::string& script) {
  fs::create_directories(file("shadow"));
  fs::permissions(folder_.write("shadow/" + program, "#!/bin/sh\n" + script), fs::perms::all);
  ::setenv("PATH", fmt::format("{}:{}", file("shadow").string(), path_before_).c_str(), 1);
}

std::string run_line(const std::vector<std::string>& words) { return study::slurm::run_command(words).out; }

}  // namespace trainyard::slurm_test
