#include "study/run/run_study.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "process/bare_process.h"
#include "study/run/folder.h"

namespace trainyard::study {

namespace {

using record::Status;

bool again(Status status, const std::string& policy) {
  record::RunRecord run;
  run.status = status;
  return runs_again(run, parse_retry_policy(policy));
}

TEST(Retry, WhatTheSurroundingsEndedIsTriedAgain) {
  for (const Status status : {Status::crash, Status::cancelled, Status::interrupted})
    EXPECT_TRUE(again(status, "")) << name(status);
}

TEST(Retry, WhatWouldEndTheSameWayNeedsToBeAskedFor) {
  for (const Status status :
       {Status::failed, Status::nan, Status::diverged, Status::oom, Status::timeout, Status::refused}) {
    EXPECT_FALSE(again(status, "")) << name(status);
    EXPECT_TRUE(again(status, name(status))) << name(status);
    EXPECT_TRUE(again(status, "all")) << name(status);
    EXPECT_EQ(again(status, "timeout,oom"), status == Status::timeout || status == Status::oom);
  }
}

TEST(Retry, AGoodRunIsNeverTriedAgain) {
  EXPECT_FALSE(again(Status::ok, ""));
  EXPECT_FALSE(again(Status::ok, "all"));
  expect_error(ErrorKind::usage, "retry 'ok'", [] { parse_retry_policy("ok"); });
}

TEST(Retry, NamesAStatusThatThereIsNot) {
  expect_error(ErrorKind::usage, "retry 'slow': not one of failed, nan, diverged, oom, timeout, refused, all",
               [] { parse_retry_policy("oom,slow"); });
}

}  // namespace

// These tests run studies of small programs for real.

namespace {

class RunStudyTest : public testing::Test {
 protected:
  Folder folder() const { return {folder_.path() / "study"}; }

  Spec spec(const std::string& script, const std::string& more = "") const {
    return parse_spec("study: small\nrun: program\nprogram: [sh, -c, '" + script + "']\n" + more,
                      "small.yaml");
  }

  StudyProgress run(const Spec& study, const std::string& retry = "") {
    const Plan plan = make_plan(study, [](const record::Settings&) { return std::string(); });
    LocalLauncher launcher(folder());
    started_ = 0;
    return run_study({study, plan, folder(), parse_retry_policy(retry), "/nowhere/trainyard"}, launcher,
                     {[](std::int64_t) {}, [&](const record::RunRecord&) { ++started_; },
                      [](const std::string&) {}, [] { return false; }});
  }

  // Returns the record of the only run of a one-cell study, with status and reason.
  record::RunRecord result(const std::string& script, const std::string& more = "") {
    return run(spec(script, more)).states.at(0).result.value();
  }

  TestFolder folder_;
  int started_ = 0;
};

TEST_F(RunStudyTest, EveryCellOnceAndNothingTwice) {
  const Spec study = spec("echo {colour} > " + (folder_.path() / "{colour}").string(),
                          "axes: {colour: [red, green, blue]}\nreplicates: 2\n");
  StudyProgress progress = run(study);
  EXPECT_EQ(progress.expected(), 6);
  EXPECT_EQ(progress.done(), 6);
  EXPECT_EQ(started_, 6);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "green"));
  progress = run(study);
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(progress.done(), 6);
  // With a longer matrix, finished runs stay finished.
  progress = run(spec("echo {colour} > " + (folder_.path() / "{colour}").string(),
                      "axes: {colour: [red, green, blue, grey]}\nreplicates: 2\n"));
  EXPECT_EQ(started_, 2);
  EXPECT_EQ(progress.done(), 8);
}

TEST_F(RunStudyTest, AnExitCodeIsAFailureWithTheLastLine) {
  const record::RunRecord run = result("echo no such thing >&2; exit 3");
  EXPECT_EQ(run.status, Status::failed);
  EXPECT_EQ(run.reason, "exit code 3: no such thing");
  EXPECT_EQ(run.exit_code, 3);
}

TEST_F(RunStudyTest, ASignalIsACrash) {
  const record::RunRecord run = result("kill -SEGV $$");
  EXPECT_EQ(run.status, Status::crash);
  EXPECT_EQ(run.exit_code, 128 + 11);
}

TEST_F(RunStudyTest, TheTimeLimitKillsTheWholeFamily) {
  const record::RunRecord run =
      result("sleep 600 & echo $! > " + (folder_.path() / "pid").string() + "; wait", "time_limit: 0.3s\n");
  EXPECT_EQ(run.status, Status::timeout);
  EXPECT_LT(run.wall_seconds, 10);
  int pid = 0;
  std::ifstream(folder_.path() / "pid") >> pid;
  ASSERT_GT(pid, 0);
  for (int i = 0; i < 100 && ::kill(pid, 0) == 0; ++i) ::usleep(20'000);
  EXPECT_NE(::kill(pid, 0), 0) << "the child of the child still runs";
}

TEST_F(RunStudyTest, AProgramThatDoesNotExistIsRefused) {
  const Spec study = parse_spec("study: small\nrun: program\nprogram: [no-such-program]\n", "small.yaml");
  const record::RunRecord run = this->run(study).states.at(0).result.value();
  EXPECT_EQ(run.status, Status::refused);
  EXPECT_EQ(run.reason, "cannot be started: No such file or directory");
}

TEST_F(RunStudyTest, OnlyWhatMakesSenseIsTriedAgain) {
  const Spec study = spec("case {way} in good) exit 0;; bad) exit 3;; dead) kill -KILL $$;; esac",
                          "axes: {way: [good, bad, dead]}\norder: nested\n");
  StudyProgress progress = run(study);
  EXPECT_EQ(progress.done(), 1);
  EXPECT_EQ(progress.failed(), (std::map<Status, std::int64_t>{{Status::failed, 1}, {Status::crash, 1}}));
  progress = run(study);
  EXPECT_EQ(started_, 1);
  EXPECT_EQ(progress.states[2].attempts, 2);
  EXPECT_EQ(progress.states[2].result->id, progress.states[2].planned.cell + "-r1-a2");
  run(study, "failed");
  EXPECT_EQ(started_, 2);
}

TEST_F(RunStudyTest, CellsThatCannotBeAreRefusedWithoutBeingStarted) {
  const Spec study = spec("exit 0", "axes: {size: [1, 2]}\n");
  const Plan plan = make_plan(study, [](const record::Settings& settings) {
    return settings.at("size") == record::Value(std::int64_t{2}) ? "too large" : "";
  });
  LocalLauncher launcher(folder());
  const StudyProgress progress = run_study({study, plan, folder(), {}, "/nowhere"}, launcher,
                                           {[](std::int64_t) {}, [](const record::RunRecord&) {},
                                            [](const std::string&) {}, [] { return false; }});
  EXPECT_EQ(progress.done(), 1);
  EXPECT_EQ(progress.failed().at(Status::refused), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder().records()), {}), 2);
}

TEST_F(RunStudyTest, AStoreThatWasLostIsMadeAgainFromTheRecords) {
  const Spec study = spec("exit 0", "axes: {size: [1, 2, 3]}\n");
  run(study);
  std::filesystem::remove(folder().store());
  const StudyProgress progress = run(study);
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(progress.done(), 3);
  std::filesystem::remove(folder().store());  // or was never there: those who only read make it, too
  make_store(folder());
  EXPECT_EQ(progress_of(folder()).done(), 3);
  EXPECT_EQ(progress_of(folder()).study, study.name);
}

TEST_F(RunStudyTest, AFolderHoldsOneStudyAndNothingElse) {
  run(spec("exit 0"));
  expect_error(ErrorKind::usage, "belongs to study 'small', not to 'other'",
               [&] { run(parse_spec("study: other\nrun: program\nprogram: ['true']\n", "other.yaml")); });
  std::filesystem::remove_all(folder().path);
  std::filesystem::create_directories(folder().path);
  std::ofstream(folder().path / "letter.txt") << "dear";
  expect_error(ErrorKind::usage, "holds no study", [&] { run(spec("exit 0")); });
}

TEST_F(RunStudyTest, AClockThatWentBackIsAWarning) {
  const Spec study = spec("exit 0", "axes: {size: [1]}\n");
  run(study);
  std::filesystem::last_write_time(folder().records(),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(2));
  const StudyProgress progress = run(spec("exit 0", "axes: {size: [1, 2]}\norder: nested\n"));
  EXPECT_EQ(progress.done(), 2);
  const auto& warnings = progress.states[1].result->warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].kind, "clock");
}

TEST_F(RunStudyTest, AChangedFileDoesNotOverwriteTheOldOne) {
  run(spec("exit 0", "axes: {size: [1]}\n"));
  run(spec("exit 0", "axes: {size: [1, 2]}\n"));
  std::ifstream first(folder().spec());
  const std::string text((std::istreambuf_iterator<char>(first)), {});
  EXPECT_NE(text.find("size: [1]}"), std::string::npos) << text;
}

TEST_F(RunStudyTest, ALimitOnMemoryIsReal) {
  const record::RunRecord run =
      result("head -c 800000000 /dev/zero | tail | sleep 20", "memory_limit: 100MiB\n");
  EXPECT_EQ(run.status, Status::oom);
  EXPECT_NE(run.reason.find("killed at its memory limit of 100 MiB: its processes held "), std::string::npos)
      << run.reason;
  EXPECT_LT(run.wall_seconds, 15);
}

TEST_F(RunStudyTest, ThePeakOfMemoryIsTheProgramsNotOurs) {
  if (!process::bare::kCanDropMemory) GTEST_SKIP() << "under a sanitizer memory stays";
  const std::vector<char> much(300 << 20, 1);
  EXPECT_LT(result("true").figure_or("peak_memory_bytes", 1e18), 30e6);
  EXPECT_GT(result("head -c 60000000 /dev/zero | tail >/dev/null").figure_or("peak_memory_bytes", 0), 55e6);
  EXPECT_EQ(much.back(), 1);
}

}  // namespace

}  // namespace trainyard::study
