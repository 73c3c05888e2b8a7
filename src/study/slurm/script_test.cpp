#include "study/slurm/submission.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::study::slurm {
namespace {

Script small() {
  Script script;
  script.name = "mnist-001-1f2e3d4c";
  script.output_folder = "/scratch/me/study/slurm/mnist-001-1f2e3d4c/output";
  script.work_folder = "/home/me";
  script.tasks = 12;
  script.command = {"/opt/trainyard", "study", "exec", "/scratch/me/study", "mnist-001-1f2e3d4c"};
  return script;
}

TEST(SlurmScript, AsksForWhatAStudyNeeds) {
  Script script = small();
  script.at_once = 4;
  script.after = {17, 18};
  script.time_limit_seconds = 601;
  script.resources = {.partition = "GPU-shared",
                      .account = "ab12",
                      .constraint = "skylake|cascadelake",
                      .nodes = 2,
                      .tasks_per_node = 2,
                      .cpus_per_task = 7,
                      .gpu_type = "p100",
                      .gpus_per_node = 2,
                      .memory_bytes = 4'000'000'000,
                      .extra = {"--reservation", "after hours", "--exclusive"}};
  EXPECT_EQ(to_text(script), R"(#!/bin/bash
#SBATCH --job-name=mnist-001-1f2e3d4c
#SBATCH --output=/scratch/me/study/slurm/mnist-001-1f2e3d4c/output/%a.log
#SBATCH --chdir=/home/me
#SBATCH --array=0-11%4
#SBATCH --dependency=afterany:17:18
#SBATCH --partition=GPU-shared
#SBATCH --account=ab12
#SBATCH --constraint=skylake|cascadelake
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=7
#SBATCH --gres=gpu:p100:2
#SBATCH --mem=3815M
#SBATCH --time=12
#SBATCH --no-requeue
#SBATCH --reservation "after hours" --exclusive
exec '/opt/trainyard' 'study' 'exec' '/scratch/me/study' 'mnist-001-1f2e3d4c' "$SLURM_ARRAY_TASK_ID"
)");
}

TEST(SlurmScript, LeavesOutWhatIsNotAskedFor) {
  EXPECT_EQ(to_text(small()), R"(#!/bin/bash
#SBATCH --job-name=mnist-001-1f2e3d4c
#SBATCH --output=/scratch/me/study/slurm/mnist-001-1f2e3d4c/output/%a.log
#SBATCH --chdir=/home/me
#SBATCH --array=0-11
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
exec '/opt/trainyard' 'study' 'exec' '/scratch/me/study' 'mnist-001-1f2e3d4c' "$SLURM_ARRAY_TASK_ID"
)");
}

TEST(SlurmScript, WithoutAnArrayHasNoTask) {
  Script script = small();
  script.tasks = 0;
  const std::string text = to_text(script);
  EXPECT_NE(text.find("/output/mnist-001-1f2e3d4c.log\n"), std::string::npos);
  EXPECT_EQ(text.find("array"), std::string::npos);
  EXPECT_EQ(text.find("ARRAY"), std::string::npos);
}

TEST(SlurmScript, QuotesOddPaths) {
  Script script = small();
  script.output_folder = "/data/50% off \"x\"/o";
  script.work_folder = "/home/o'neil/a\\b";
  script.command = {"/opt/o'neil/$HOME/ty", "a b"};
  const std::string text = to_text(script);
  EXPECT_NE(text.find("#SBATCH \"--output=/data/50%% off \\\"x\\\"/o/%a.log\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#SBATCH \"--chdir=/home/o'neil/a\\\\b\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("exec '/opt/o'\\''neil/$HOME/ty' 'a b' \""), std::string::npos) << text;
}

TEST(SlurmScript, RefusesLineBreaksInValues) {
  Script script = small();
  script.resources.partition = "a\n#SBATCH --uid=0";
  expect_error(ErrorKind::config, "control character", [&] { to_text(script); });
  script = small();
  script.command.push_back("a\nb");
  expect_error(ErrorKind::config, "control character", [&] { to_text(script); });
}

TEST(SlurmScript, OuterLimitLeavesAMinuteToTheRunsOwn) {
  EXPECT_EQ(outer_limit_minutes(0), 0);
  EXPECT_EQ(outer_limit_minutes(0.5), 2);
  EXPECT_EQ(outer_limit_minutes(60), 2);
  EXPECT_EQ(outer_limit_minutes(61), 3);
}

}  // namespace
}  // namespace trainyard::study::slurm
