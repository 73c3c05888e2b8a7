#include "study/run/supervise.h"
#include "base/json.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_folder.h"
#include "study/run/run_study.h"

namespace trainyard::study {
namespace {

class SideCommands : public testing::Test {
 protected:
  SideCommands() {
    make_folders(folder().records());
    make_folders(folder().logs());
  }
  Folder folder() const { return {folder_.path() / "study"}; }
  std::string note(const std::string& word) const {
    return fmt::format("echo {} >> {}", word, (folder_.path() / "notes").string());
  }
  std::string notes() const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / "notes").rdbuf();
    return text.str();
  }
  static Command shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

  Job job(const std::string& script) const {
    Job job;
    job.run_id = "cell-r1-a1";
    job.cell = "cell";
    job.kind = "program";
    job.command = shell(script);
    job.setup = {shell(note("setup"))};
    job.cleanup = {shell(note("cleanup"))};
    return job;
  }
  record::RunRecord run(
      const Job& job, const std::function<bool()>& stop = [] { return false; }) const {
    return supervise(job, folder(), stop);
  }

  TestFolder folder_;
};

TEST_F(SideCommands, ComeBeforeAndAfterTheRunAndAreRecorded) {
  Job quiet = job(note("run"));
  quiet.setup.push_back({"echo", "ready", "{folder}"});
  quiet.environment["GREETING"] = "hello";
  quiet.cleanup.push_back(shell("echo $GREETING"));
  const record::RunRecord record = run(quiet);
  EXPECT_EQ(record.status, record::Status::ok) << record.reason;
  EXPECT_EQ(notes(), "setup\nrun\ncleanup\n");
  const auto setup = parse_json(record.details.at("setup")),
             cleanup = parse_json(record.details.at("cleanup"));
  ASSERT_EQ(setup.size(), 2u);
  EXPECT_EQ(setup[1]["command"], "echo ready " + folder().path.string());
  EXPECT_EQ(setup[1]["last_line"], "ready " + folder().path.string());
  EXPECT_EQ(setup[1]["exit_code"], 0);
  EXPECT_EQ(setup[1]["failed"], nullptr);
  EXPECT_EQ(cleanup[1]["last_line"], "hello");
  EXPECT_TRUE(record.warnings.empty());
  EXPECT_TRUE(std::filesystem::exists(folder().logs() / "cell-r1-a1.setup.log"));
}

TEST_F(SideCommands, ASetUpThatFailsRefusesTheRunAndCleansUp) {
  Job broken = job(note("run"));
  broken.setup.insert(broken.setup.begin(), shell("echo no room >&2; exit 3"));
  const record::RunRecord record = run(broken);
  EXPECT_EQ(record.status, record::Status::refused);
  EXPECT_EQ(record.reason, "set-up 'echo no room >&2; exit 3': exit code 3: no room");
  EXPECT_EQ(notes(), "cleanup\n");
  EXPECT_TRUE(std::filesystem::exists(folder().record("cell-r1-a1")));
}

TEST_F(SideCommands, HaveLimits) {
  Job slow = job(note("run"));
  slow.setup = {{"sleep", "30"}};
  slow.setup_limit_seconds = 0.2;
  record::RunRecord record = run(slow);
  EXPECT_EQ(record.status, record::Status::refused);
  EXPECT_NE(record.reason.find("set-up 'sleep 30': killed at its limit"), std::string::npos) << record.reason;
  Job slow_end = job(note("run"));
  slow_end.run_id = "cell-r1-a2";
  slow_end.cleanup = {{"sleep", "30"}, shell(note("second"))};
  slow_end.cleanup_limit_seconds = 0.2;
  record = run(slow_end);
  EXPECT_EQ(record.status, record::Status::ok);
  ASSERT_EQ(record.warnings.size(), 1u);
  EXPECT_EQ(record.warnings[0].kind, "cleanup");
  EXPECT_NE(record.warnings[0].text.find("clean-up 'sleep 30': killed at its limit"), std::string::npos);
  EXPECT_TRUE(notes().ends_with("second\n")) << "the others run all the same";
}

TEST_F(SideCommands, CleanUpAfterATimeOutACrashAndCtrlC) {
  Job endless = job("sleep 30");
  endless.time_limit_seconds = 0.2;
  EXPECT_EQ(run(endless).status, record::Status::timeout);
  EXPECT_EQ(notes(), "setup\ncleanup\n");
  Job crashing = job("kill -SEGV $$");
  crashing.run_id = "cell-r1-a2";
  EXPECT_EQ(run(crashing).status, record::Status::crash);
  Job stopped = job("sleep 30");
  stopped.run_id = "cell-r1-a3";
  EXPECT_EQ(run(stopped, [] { return true; }).status, record::Status::interrupted);
  EXPECT_EQ(notes(), "setup\ncleanup\nsetup\ncleanup\nsetup\ncleanup\n");
  Job stopped_early = job("true");
  stopped_early.run_id = "cell-r1-a4";
  stopped_early.setup = {{"sleep", "30"}};
  const record::RunRecord record = run(stopped_early, [] { return true; });
  EXPECT_EQ(record.status, record::Status::interrupted);
  EXPECT_TRUE(notes().ends_with("cleanup\n"));
}

// A killed launcher leaves a note of its pending clean-up; the next launcher runs it.
TEST_F(SideCommands, AreOwedByALauncherThatWasKilled) {
  const Job endless = job("sleep 30");
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    run(endless);
    ::_exit(0);
  }
  const std::filesystem::path begun = folder().log(endless.run_id);
  for (int i = 0; i < 1000 && !std::filesystem::exists(begun); ++i) ::usleep(10'000);
  EXPECT_EQ(run_owed_cleanups(folder()), 0) << "it lives";
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  EXPECT_EQ(notes(), "setup\n");
  LocalLauncher(folder()).settle();
  EXPECT_EQ(notes(), "setup\ncleanup\n");
  LocalLauncher(folder()).settle();
  EXPECT_EQ(notes(), "setup\ncleanup\n") << "once";
}

}  // namespace
}  // namespace trainyard::study
