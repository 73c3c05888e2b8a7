#include "study/run/run_study.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "study/run/supervise.h"

namespace trainyard::study {
namespace {

class LanesTest : public testing::Test {
 protected:
  LanesTest() {
    make_folders(folder().records());
    make_folders(folder().logs());
  }
  Folder folder() const { return {folder_.path() / "study"}; }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // Makes a run that notes its begin and its end, and runs `script` between them.
  Job job(const std::string& name, const std::string& lane, const std::string& script) const {
    Job job;
    job.run_id = name + "-r1-a1";
    job.cell = name;
    job.lane = lane;
    job.kind = "program";
    job.command = {
        "sh", "-c",
        fmt::format("echo +{0} >> {1}; {2}; echo -{0} >> {1}", name, file("lane-" + lane), script)};
    job.time_limit_seconds = 30;
    return job;
  }
  std::string awaiting(const std::string& name) const {
    return fmt::format("touch {}; until test -e {}; do sleep 0.01; done", file("at-" + name.substr(0, 1)),
                       file("at-" + name.substr(2)));
  }
  std::string noted(const std::string& lane) const {
    std::string text;
    std::ifstream stream(file("lane-" + lane));
    for (std::string line; std::getline(stream, line);) text += line + " ";
    return text;
  }

  TestFolder folder_;
};

TEST_F(LanesTest, RunBesideEachOtherAndInOrder) {
  // Each lane's first waits until the other's has begun.
  const std::vector<Job> jobs = {job("a1", "a", awaiting("a b")), job("b1", "b", awaiting("b a")),
                                 job("a2", "a", "true"), job("b2", "b", "exit 3"), job("b3", "b", "true")};
  int ended = 0, well = 0;
  LocalLauncher(folder()).run(
      jobs,
      [&](const record::RunRecord& run) {
        ++ended;
        well += run.status == record::Status::ok ? 1 : 0;
      },
      [] { return false; });
  EXPECT_EQ(ended, 5);
  EXPECT_EQ(well, 4);
  EXPECT_EQ(noted("a"), "+a1 -a1 +a2 -a2 ");
  EXPECT_EQ(noted("b"), "+b1 -b1 +b2 +b3 -b3 ");
}

// What is stopped is told so and waited for; what ends well meanwhile was not stopped.
TEST_F(LanesTest, AJobWithTimeOfGraceSavesWhatItHas) {
  const auto stopped = [&](const std::string& name, int code) {
    Job one = job(name, "a", "true");
    one.command = {
        "sh", "-c",
        fmt::format("trap 'touch {0}-saved; exit {1}' TERM; touch {0}; while :; do sleep 0.01; done",
                    file(name), code)};
    one.grace_seconds = 60;
    return supervise(one, folder(), [&] { return std::filesystem::exists(file(name)); });
  };
  const record::RunRecord saved = stopped("saves", 130), done = stopped("ends", 0);
  EXPECT_EQ(saved.status, record::Status::interrupted);
  EXPECT_EQ(saved.exit_code, 130);
  EXPECT_TRUE(std::filesystem::exists(file("saves-saved")));
  EXPECT_EQ(done.status, record::Status::ok);
}

TEST_F(LanesTest, WhatGoesWrongInOneIsToldAfterTheOthers) {
  const std::vector<Job> jobs = {job("a1", "a", "true"), job("b1", "b", "true")};
  std::ofstream(folder().log("b1-r1-a1")) << "claimed by another\n";
  int ended = 0;
  expect_error(ErrorKind::io, "b1-r1-a1.log", [&] {
    LocalLauncher(folder()).run(
        jobs, [&](const record::RunRecord&) { ++ended; }, [] { return false; });
  });
  EXPECT_EQ(ended, 1);
}

// The load beside the run is a child of this test.
TEST_F(LanesTest, ARunOnABusyMachineSaysSoAndGoesOn) {
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 16) GTEST_SKIP() << "one process is too few to disturb this machine";
  Job careful = job("a1", "a", "true");
  careful.wait_for_quiet_seconds = 1.5;
  careful.time_limit_seconds = 1.4;  // of the run, not of the waiting
  const pid_t burner = ::fork();
  if (burner == 0)
    for (volatile unsigned long turns = 0;;) turns = turns + 1;
  const record::RunRecord run = supervise(careful, folder(), [] { return false; });
  EXPECT_EQ(run.status, record::Status::ok) << run.reason;
  EXPECT_LT(run.wall_seconds, 1.4);
  EXPECT_GT(run.figure_or("quiet_wait_seconds", 0), 1.2);
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_EQ(run.warnings[0].kind, "busy");
  EXPECT_NE(run.warnings[0].text.find("not quiet within 1.50 s: "), std::string::npos)
      << run.warnings[0].text;
  // A stop request during the wait prevents the run.
  careful.run_id = "a1-r1-a2";
  careful.wait_for_quiet_seconds = 600;
  const record::RunRecord stopped = supervise(careful, folder(), [] { return true; });
  EXPECT_EQ(stopped.status, record::Status::interrupted);
  EXPECT_EQ(noted("a"), "+a1 -a1 ");
  ::kill(burner, SIGKILL);
  ::waitpid(burner, nullptr, 0);
}

// The record tells whether clocks could be pinned here.
TEST_F(LanesTest, ARecordTellsWhatBecameOfItsClocks) {
  Job pinned = job("a1", "a", "true");
  pinned.pin_clocks = true;
  const record::RunRecord run = supervise(pinned, folder(), [] { return false; });
  EXPECT_EQ(run.status, record::Status::ok) << run.reason;
  const bool warned = !run.warnings.empty() && run.warnings[0].kind == "clocks";
  EXPECT_TRUE(run.words.contains("clocks") || warned);
  for (const auto& entry : std::filesystem::directory_iterator(folder().logs()))
    EXPECT_FALSE(entry.path().string().ends_with(".clocks.json")) << "nothing is owed";
}

}  // namespace
}  // namespace trainyard::study
