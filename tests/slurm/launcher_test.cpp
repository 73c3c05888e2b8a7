#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "slurm/slurm_fixture.h"

namespace trainyard::slurm_test {
namespace {

using record::Status;

class Launched : public SlurmTest {
 protected:
  study::Job noting(const std::string& cell) const {  // each execution leaves a line
    return job(cell, fmt::format("echo {} >> {}", cell, file("ran").string()));
  }
  std::vector<std::string> noted() const {
    std::istringstream words(content_of("ran"));
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    std::sort(all.begin(), all.end());
    return all;
  }

  // Runs a launcher in a process of its own.
  pid_t launch(const std::vector<study::Job>& jobs, const study::slurm::LauncherOptions& options) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    try {
      run(jobs, options);
    } catch (...) {
    }
    ::_exit(0);
  }
  static void wait_for(pid_t pid) { ::waitpid(pid, nullptr, 0); }
  static void kill(pid_t pid) {
    ::kill(pid, SIGKILL);
    wait_for(pid);
  }
  static bool eventually(double seconds, const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }
};

TEST_F(Launched, EnvironmentSurvivesCommasQuotesAndLineBreaks) {
  const std::string value = "a,b=c, 'd' \"e\" $HOME `date` %a\nnext";
  study::Job odd = job("odd", fmt::format("printf %s \"$TY_LIST\" > {}; printf %s \"$PATH\" > {}",
                                          file("list").string(), file("path").string()));
  odd.environment["TY_LIST"] = value;
  ::setenv("SBATCH_PARTITION", "nowhere", 1);  // would overrule the script
  ::setenv("TY_SECRET", "x", 1);
  study::Job secret = job("secret", "test -z \"$TY_SECRET\"");
  const Records records = run({odd, secret});
  ::unsetenv("SBATCH_PARTITION");
  EXPECT_EQ(records.at("odd").status, Status::ok) << records.at("odd").reason;
  EXPECT_EQ(records.at("secret").status, Status::ok) << "the submitter's variables reach the job";
  EXPECT_EQ(content_of("list"), value);
  EXPECT_EQ(content_of("path"), std::getenv("PATH"));
}

TEST_F(Launched, ArraysKeepToTheirThrottle) {
  std::vector<study::Job> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.push_back(job(
        fmt::format("c{}", i),
        fmt::format("date '+%s.%N 1' >> {0}; sleep 0.7; date '+%s.%N -1' >> {0}", file("times").string())));
  auto two_at_once = options();
  two_at_once.submit.at_once = 2;
  ASSERT_EQ(run(jobs, two_at_once).size(), 4u);
  std::istringstream lines(content_of("times"));
  std::map<std::string, int> changes;
  std::string time;
  for (int change = 0; lines >> time >> change;) changes[time] = change;
  int running = 0, most = 0;
  for (const auto& [when, change] : changes) most = std::max(most, running += change);
  EXPECT_EQ(changes.size(), 8u);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(study::slurm::read_submissions(folder()).size(), 1u) << "equal resources share an array";
}

TEST_F(Launched, AWholeNodeForOneThreadIsFlagged) {
  study::Job whole = job("whole", "true"), part = job("part", "true");
  whole.resources.partition = "exclusive";
  whole.resources.cpus_per_task = part.resources.cpus_per_task = 1;
  const Records records = run({whole, part});
  ASSERT_EQ(records.at("whole").warnings.size(), 1u);
  EXPECT_EQ(records.at("whole").warnings.front().kind, "cores");
  EXPECT_NE(records.at("whole").warnings.front().text.find("asked for 1 CPUs on a node, was given 4"),
            std::string::npos);
  EXPECT_TRUE(records.at("part").warnings.empty());
  EXPECT_EQ(record::to_text(*find_fact(records.at("part").provenance, "slurm", "cpus_on_node")), "1");
}

TEST_F(Launched, AJobOfTwoNodesRunsOnBoth) {
  study::Job both =
      job("both", "srun sh -c 'echo node $SLURM_NODEID rank $SLURM_PROCID on $SLURMD_NODENAME'");
  both.resources.nodes = 2;
  const Records records = run({both});
  EXPECT_EQ(records.at("both").status, Status::ok) << records.at("both").reason;
  const std::string log = content_of("study/logs/both-r1-a1.log");
  EXPECT_NE(log.find("node 0 rank 0 on n1"), std::string::npos) << log;
  EXPECT_NE(log.find("node 1 rank 1 on n2"), std::string::npos) << log;
}

TEST_F(Launched, AKillBeforeSbatchAnswersSubmitsNothingTwice) {
  shadow("sbatch", "/usr/bin/sbatch \"$@\" > /dev/null; kill -9 $PPID\n");
  wait_for(launch({noting("a"), noting("b")}, options()));
  ASSERT_EQ(study::slurm::read_submissions(folder()).at(0).job_id, 0) << "the answer was heard";
  shadow("sbatch", "exec /usr/bin/sbatch \"$@\"\n");
  const Records records = run({noting("a"), noting("b"), noting("c")});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(noted(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(study::slurm::read_submissions(folder()).size(), 2u);
}

TEST_F(Launched, AKillBeforeTheSubmissionLosesNothing) {
  shadow("sbatch", "kill -9 $PPID\n");
  wait_for(launch({noting("a")}, options()));
  shadow("sbatch", "exec /usr/bin/sbatch \"$@\"\n");
  EXPECT_EQ(run({noting("a")}).at("a").status, Status::ok);
  EXPECT_EQ(noted(), (std::vector<std::string>{"a"}));
}

TEST_F(Launched, WhatIsInTheQueueIsWaitedFor) {
  const pid_t first = launch({job("slow", "sleep 2"), noting("a")}, options());
  ASSERT_TRUE(eventually(100, [&] { return std::filesystem::exists(file("ran")); }));
  kill(first);
  // The log has claimed the first attempt: a study asks for the second.
  const Records records = run({job("slow", "sleep 2", 2), noting("b")});
  EXPECT_EQ(records.at("slow").id, "slow-r1-a1");
  EXPECT_EQ(records.at("slow").status, Status::ok);
  EXPECT_EQ(noted(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(Launched, TheCollectorMakesRecordsWhenNobodyWaits) {
  auto with_collector = options();
  with_collector.collector = true;
  const pid_t parent = launch({noting("a"), job("lost", "kill -9 $PPID")}, with_collector);
  ASSERT_TRUE(eventually(100, [&] { return std::filesystem::exists(file("ran")); }));
  kill(parent);
  ASSERT_TRUE(eventually(100, [&] { return std::filesystem::exists(folder().record("lost-r1-a1")); }));
  const auto lost = record::read_run_record(folder().record("lost-r1-a1"));
  EXPECT_STREQ(name(lost.status), "crash") << lost.reason;
  EXPECT_EQ(record::read_run_record(folder().record("a-r1-a1")).status, Status::ok);
}

TEST_F(Launched, AtCtrlCJobsStayInTheQueue) {
  auto talking = options();
  std::string said;
  talking.say = [&](const std::string& line) { said += line + "\n"; };
  study::slurm::SlurmLauncher launcher(folder(), talking);
  launcher.run(
      std::vector{job("slow", "sleep 100")}, [](const record::RunRecord&) { FAIL(); },
      [&] { return slurm_id("slow-r1-a1").has_value(); });
  EXPECT_TRUE(said.starts_with("1 runs stay in Slurm's queue")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(study::slurm::cancel(folder()), 1);
  const Records records = run({job("slow", "true", 2)});
  EXPECT_STREQ(name(records.at("slow").status), "cancelled") << records.at("slow").reason;
  EXPECT_EQ(study::slurm::cancel(folder()), 0);
}

TEST_F(Launched, ATaskCancelledBeforeItStartedIsCancelled) {
  auto one_at_once = options();
  one_at_once.submit.at_once = 1;
  bool cancelled = false;
  const Records records = run({noting("a"), job("b", "sleep 1"), noting("c")}, one_at_once, [&] {
    const auto id = slurm_id("c-r1-a1");
    if (!cancelled && id) run_line({"scancel", *id});
    cancelled = id.has_value();
  });
  EXPECT_STREQ(name(records.at("c").status), "cancelled") << records.at("c").reason;
  EXPECT_EQ(records.at("b").status, Status::ok);
  EXPECT_EQ(noted(), (std::vector<std::string>{"a"}));
}

TEST_F(Launched, AFailedNodeIsACrash) {
  bool down = false;
  study::Job victim = job("victim", fmt::format("touch {}; sleep 100", file("started").string()));
  victim.resources.gpu_type = "p100";
  victim.resources.gpus_per_node = 1;
  const Records records = run({victim}, options(), [&] {
    if (!down && std::filesystem::exists(file("started")))
      run_line({"scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test"}), down = true;
  });
  EXPECT_STREQ(name(records.at("victim").status), "crash");
  EXPECT_NE(records.at("victim").reason.find("node failed"), std::string::npos)
      << records.at("victim").reason;
  EXPECT_EQ(records.at("victim").node, "n2");
}

TEST_F(Launched, TheFileOfCompletedJobsKnowsWhatTheControllerForgot) {
  shadow("scontrol",
         "case \"$*\" in *'show job'*) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;;"
         " *) exec /usr/bin/scontrol \"$@\";; esac\n");
  auto patient = options();
  patient.grace_seconds = 4;
  bool cancelled = false;
  const Records records = run(
      {job("cut", fmt::format("touch {}; sleep 100", file("started").string())), noting("a")}, patient, [&] {
        if (cancelled || !std::filesystem::exists(file("started"))) return;
        cancelled = true;
        run_line({"scancel", slurm_id("cut-r1-a1").value()});
      });
  EXPECT_STREQ(name(records.at("cut").status), "cancelled") << records.at("cut").reason;
  EXPECT_EQ(records.at("a").status, Status::ok);
}

// Our own commands keep what they have at SIGTERM and end by themselves, before Slurm is heard of here.
TEST_F(Launched, ARunThatEndsItselfWhenItIsCancelledIsCancelled) {
  study::Job keeping =
      job("keeping", fmt::format("trap 'exit 130' TERM; touch {}; while true; do sleep 0.05; done",
                                 file("started").string()));
  keeping.kind = "bench";
  bool cancelled = false;
  const Records records = run({keeping}, options(), [&] {
    if (cancelled || !std::filesystem::exists(file("started"))) return;
    cancelled = true;
    run_line({"scancel", slurm_id("keeping-r1-a1").value()});
  });
  EXPECT_STREQ(name(records.at("keeping").status), "cancelled") << records.at("keeping").reason;
}

TEST_F(Launched, SlurmsOwnTimeLimitIsATimeout) {
  study::Job endless = job("endless", "sleep 300");
  endless.resources.extra = {"--time=1"};
  const auto run_of_it = run({endless}).at("endless");
  EXPECT_STREQ(name(run_of_it.status), "timeout") << run_of_it.reason;
  EXPECT_NE(run_of_it.reason.find("cluster's time limit"), std::string::npos) << run_of_it.reason;
  EXPECT_GE(run_of_it.wall_seconds, 59);
}

}  // namespace
}  // namespace trainyard::slurm_test
