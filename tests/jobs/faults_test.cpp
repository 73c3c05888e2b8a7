// Tests what a user, or the machine, can do to the processes of a run while it runs.

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/json.h"
#include "jobs/job_fixture.h"

namespace trainyard::jobs_test {
namespace {

// Sums user and system time of all threads of a process; proc(5).
double cpu_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line, ignored;
  std::getline(file, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  for (int field = 3; field < 14; ++field) rest >> ignored;
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class JobFaultsTest : public JobTest {
 protected:
  static constexpr int kSteps = 150, kBatch = 8;

  // Nobody loses its lease, or patience, because other work has the cores, unless `rest` says so.
  static std::string job(const std::string& rest, int steps = kSteps) {
    const auto unless_there = [&](const char* option, int value) {
      return rest.find(option) == std::string::npos ? fmt::format("{} {} ", option, value) : std::string();
    };
    return fmt::format(
        "--network lenet --batch {} --workers 2 --servers 2 --mode bsp --threads 2 --steps {} --no-eval "
        "--out run {}{}{}{}",
        kBatch, steps, unless_there("--lease", 30), unless_there("--patience", 120),
        unless_there("--checkpoint-every", 10), rest);
  }

  // The run must end well, and have used every batch once, whatever `harm` does to it in the middle.
  Json expect_unharmed(const std::string& rest, const std::function<void()>& harm, int steps = kSteps) const {
    cli_test::Command command = start(job(rest, steps));
    wait_for_step("run", 10, command);
    harm();
    const cli_test::CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (result.exit_code != 0) return Json::object();
    const Json record = parse_json(result.out);
    EXPECT_EQ(record["status"], "ok");
    EXPECT_EQ(record["exchange"]["batches_used"], 2 * steps);
    // The last words of a server that is killed may be lost.
    EXPECT_LE(gradients(record), 2 * steps);
    EXPECT_GE(gradients(record), 2 * steps - (record["exchange"]["lost_servers"] == 0 ? 0 : 2));
    EXPECT_EQ(record["images_consumed"], gradients(record) * kBatch);
    EXPECT_GE(record["final_step"].get<int>(), steps) << "updates of fewer gradients are more";
    EXPECT_EQ(saved_step("run"), record["final_step"]);
    EXPECT_TRUE(gone(processes("run")));
    return record;
  }
  void kill_member(const std::string& member, int signal = SIGKILL) const {
    ASSERT_GT(process("run", member), 0);
    ASSERT_EQ(::kill(process("run", member), signal), 0);
  }
};

TEST_F(JobFaultsTest, AWorkerIsKilled) {
  const Json record = expect_unharmed("", [&] { kill_member("worker-1"); });
  EXPECT_EQ(record["exchange"]["restarted_processes"], 1);
}

TEST_F(JobFaultsTest, TheLeadingServerIsKilled) {
  const Json record = expect_unharmed("", [&] { kill_member("server-0"); });
  EXPECT_EQ(record["exchange"]["restarted_processes"], 1);
}

TEST_F(JobFaultsTest, AnotherServerIsKilled) {
  const Json record = expect_unharmed("", [&] { kill_member("server-1"); });
  EXPECT_EQ(record["exchange"]["lost_servers"], 1);
}

// It must be found again where it was, though any port was as good as another at first.
TEST_F(JobFaultsTest, AServerOnAnyPortIsKilled) {
  const Json record = expect_unharmed("--transport tcp", [&] { kill_member("server-0"); });
  EXPECT_EQ(record["exchange"]["restarted_processes"], 1);
}

TEST_F(JobFaultsTest, AWorkerStandsStillForLongerThanItsLease) {
  expect_unharmed(
      "--lease 0.5",
      [&] {
        kill_member("worker-1", SIGSTOP);
        std::this_thread::sleep_for(std::chrono::milliseconds(1200));
        kill_member("worker-1", SIGCONT);
      },
      400);
  // A busy machine may take its lease from it once more.
  EXPECT_TRUE(std::regex_search(log("run", "worker-1"), std::regex("joined ([2-9]|[1-9][0-9]+) times")))
      << log("run", "worker-1");
}

TEST_F(JobFaultsTest, WithoutRestartsALostWorkerEndsTheRun) {
  cli_test::Command command = start(job("--restarts 0", 100000));
  wait_for_step("run", 10, command);
  const double killed = now_seconds();
  kill_member("worker-1");
  const cli_test::CommandResult result = command.wait();
  expect_failed(result, 2, "worker 1 was ended by signal 9");
  EXPECT_LT(now_seconds() - killed, 60) << "it waited until its patience was over";
  EXPECT_TRUE(gone(processes("run")));
}

// No checkpoint is due before the worker is lost. By its processor time it has then made a hundred steps or
// more.
TEST_F(JobFaultsTest, WhatARunReachedIsSavedWhenAWorkerIsLost) {
  cli_test::Command command = start(job("--restarts 0 --checkpoint-every 100000", 100000));
  const auto has_trained = [&] {
    return process("run", "worker-1") > 0 && cpu_seconds(process("run", "worker-1")) > 2;
  };
  ASSERT_TRUE(wait_until(240, has_trained));
  EXPECT_EQ(saved_step("run"), 0);
  kill_member("worker-1");
  expect_failed(command.wait(), 2, "worker 1 was ended by signal 9");
  EXPECT_GT(saved_step("run"), 0);
}

TEST_F(JobFaultsTest, SurvivorsGoOnWhenTheyAreEnough) {
  const Json record = expect_unharmed("--restarts 0 --min-workers 1", [&] { kill_member("worker-1"); });
  const Json& by_worker = record["exchange"]["gradients_by_worker"];
  EXPECT_GT(by_worker["0"].get<int>(), kSteps);
  EXPECT_LT(by_worker["1"].get<int>(), kSteps);
}

TEST_F(JobFaultsTest, WhoDiesTooOftenIsGivenUp) {
  cli_test::Command command = start(job("--restarts 2"));
  wait_for_step("run", 10, command);
  pid_t last = 0;
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_TRUE(wait_until(240, [&] { return process("run", "worker-0") != last; }));
    last = process("run", "worker-0");
    ::kill(last, SIGKILL);
  }
  const cli_test::CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("trainyard: worker 0 was ended by signal 9\n"), std::string::npos) << result.err;
}

TEST_F(JobFaultsTest, NothingOutlivesTheCommand) {
  cli_test::Command command = start(job("", 100000));
  wait_for_step("run", 10, command);
  const std::vector<pid_t> all = processes("run");
  ASSERT_EQ(all.size(), 4u);
  const std::filesystem::path kept = state_file(process("run", "server-0"));
  ASSERT_TRUE(std::filesystem::exists(kept)) << kept;
  command.signal(SIGKILL);
  EXPECT_TRUE(gone(all));
  EXPECT_FALSE(std::filesystem::exists(kept)) << "memory that nobody frees";
}

// All processes wait for a suspended one: waiting must cost no CPU time.
TEST_F(JobFaultsTest, WhoWaitsUsesNoTime) {
  cli_test::Command command = start(job("--lease 60", 100000));
  wait_for_step("run", 10, command);
  kill_member("worker-1", SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // until all wait
  std::map<std::string, double> before;
  for (const char* member : {"worker-0", "server-0", "server-1"})
    before[member] = cpu_seconds(process("run", member));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const auto& [member, seconds] : before)
    EXPECT_LT(cpu_seconds(process("run", member)) - seconds, 0.1) << member << " spins";
}

TEST_F(JobFaultsTest, CtrlCEndsAllSoon) {
  cli_test::Command command = start(job("", 100000));
  wait_for_step("run", 10, command);
  command.signal(SIGINT);
  EXPECT_TRUE(gone(processes("run"))) << "two seconds where nobody else computes";
  const cli_test::CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("--resume goes on"), std::string::npos) << result.err;
  EXPECT_EQ(parse_json(result.out)["status"], "interrupted");
}

TEST_F(JobFaultsTest, ALossThatIsNoNumberEndsTheRunByName) {
  const cli_test::CommandResult result = run(train(job("--lr 1e30 --weight-decay 1 --record record.json")));
  expect_failed(result, 2, ": loss became ");
  EXPECT_TRUE(result.err.starts_with("trainyard: worker ")) << result.err;
  const Json record = read_json(work() / "record.json");
  EXPECT_EQ(record["status"], "nan");
  EXPECT_EQ(saved_step("run"), 0) << "what is no number is not worth keeping";
}

}  // namespace
}  // namespace trainyard::jobs_test
