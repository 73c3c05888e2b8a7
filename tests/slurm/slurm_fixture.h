#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "slurm/private_cluster.h"
#include "study/run/folder.h"
#include "study/slurm/launcher.h"
#include "study/spec/job.h"

namespace trainyard::slurm_test {

using Records = std::map<std::string, record::RunRecord>;  // by cell

// Each test has a Slurm and a study's folder of its own. The node's side of a run is this test program.
class SlurmTest : public testing::Test {
 protected:
  void SetUp() override;

  study::Folder folder() const { return {folder_.path() / "study"}; }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  std::string content_of(const std::string& name) const;
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    return folder_.write(name, content);
  }

  // A run of `script` by /bin/sh in the study "twelve".
  study::Job job(const std::string& cell, const std::string& script, int attempt = 1) const;

  study::slurm::LauncherOptions options() const;
  // Until all have ended; `meanwhile` is called often.
  Records run(
      const std::vector<study::Job>& jobs, const study::slurm::LauncherOptions& options,
      const std::function<void()>& meanwhile = [] {}) const;
  Records run(const std::vector<study::Job>& jobs) const { return run(jobs, options()); }

  // "12_3" of a run that was submitted.
  std::optional<std::string> slurm_id(const std::string& run_id) const;

  // A program in PATH, in front of all others, while the test lasts.
  void shadow(const std::string& program, const std::string& script);

  void TearDown() override;

 private:
  TestFolder folder_;
  std::unique_ptr<PrivateCluster> cluster_;
  std::string path_before_;
};

std::string run_line(const std::vector<std::string>& words);  // of a program of Slurm: what it printed

}  // namespace trainyard::slurm_test
