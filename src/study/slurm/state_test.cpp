#include "study/slurm/state.h"

#include <ctime>

#include <gtest/gtest.h>

namespace trainyard::study::slurm {
namespace {

using record::Status;

// Slurm 22.05.8 printed this with SLURM_TIME_FORMAT=%s; the text after NodeList is cut.
constexpr const char* kScontrol =
    R"(JobId=4 ArrayJobId=1 ArrayTaskId=0 ArrayTaskThrottle=4 JobName=ty-abc UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=COMPLETED Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:01 TimeLimit=00:01:00 TimeMin=N/A SubmitTime=1794720235 EligibleTime=1794720235 AccrueTime=1794720235 StartTime=1794720235 EndTime=1794720236 Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=1794720235 Scheduler=Main Partition=shared AllocNode:Sid=localhost:28298 ReqNodeList=(null) ExcNodeList=(null) NodeList=n1 BatchHost=n1 NumNodes=1
JobId=5 ArrayJobId=1 ArrayTaskId=1 ArrayTaskThrottle=4 JobName=ty-abc JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0 StartTime=1794720235 EndTime=1794720236 ReqNodeList=(null) NodeList=n1
JobId=6 ArrayJobId=1 ArrayTaskId=2 ArrayTaskThrottle=4 JobName=ty-abc JobState=CANCELLED Reason=None ExitCode=0:15 StartTime=1794720235 EndTime=1794720238 ReqNodeList=n2 NodeList=n1
JobId=7 ArrayJobId=1 ArrayTaskId=3 ArrayTaskThrottle=4 JobName=ty-abc JobState=FAILED Reason=JobLaunchFailure ExitCode=0:9 StartTime=1794720235 EndTime=1794720236 NodeList=n1
JobId=1 ArrayJobId=1 ArrayTaskId=4,6-7%4 ArrayTaskThrottle=4 JobName=ty-abc JobState=PENDING Reason=JobArrayTaskLimit ExitCode=0:0 StartTime=Unknown EndTime=Unknown NodeList=
JobId=2 ArrayJobId=2 ArrayTaskId=0-3 JobName=ty-abc JobState=FAILED Reason=BadConstraints ExitCode=0:1 StartTime=1794720235 EndTime=1794720235 NodeList=
JobId=17 ArrayJobId=17 ArrayTaskId=0 JobName=ty-t JobState=NODE_FAIL Reason=NodeDown ExitCode=0:15 StartTime=1794720910 EndTime=1794720912 ReqNodeList=n2 NodeList=n2
JobId=21 JobName=alone JobState=RUNNING Reason=None ExitCode=0:0 StartTime=1794720910 EndTime=Unknown NodeList=n[1-2]
)";

TEST(SlurmState, IsReadFromScontrol) {
  const auto states = parse_scontrol(kScontrol);
  ASSERT_EQ(states.size(), 13u);
  EXPECT_EQ(states[0].job_id, 1);
  EXPECT_EQ(states[0].task, 0);
  EXPECT_EQ(states[0].state, "COMPLETED");
  EXPECT_EQ(states[0].reason, "");
  EXPECT_EQ(states[0].nodes, "n1");
  EXPECT_EQ(states[0].started_seconds, 1794720235);
  EXPECT_EQ(states[0].ended_seconds, 1794720236);
  EXPECT_TRUE(states[0].final());
  EXPECT_EQ(states[1].exit_code, 3);
  EXPECT_EQ(states[2].signal, 15);
  for (int i = 4; i < 7; ++i) {
    EXPECT_EQ(states[static_cast<std::size_t>(i)].task,
              (std::vector{4, 6, 7})[static_cast<std::size_t>(i - 4)]);
    EXPECT_FALSE(states[static_cast<std::size_t>(i)].final());
    EXPECT_EQ(states[static_cast<std::size_t>(i)].nodes, "");
  }
  EXPECT_EQ(states[12].job_id, 21);
  EXPECT_EQ(states[12].task, -1);
  EXPECT_EQ(states[12].nodes, "n[1-2]");
  EXPECT_FALSE(states[12].final());
}

TEST(SlurmState, BecomesAStatusAndAReason) {
  const auto states = parse_scontrol(kScontrol);
  const std::vector<std::tuple<std::size_t, Status, std::string, int>> cases{
      {0, Status::failed, "left no record (Slurm state COMPLETED) on n1", 0},
      {1, Status::failed, "exit code 3 on n1", 3},
      {2, Status::cancelled, "cancelled through Slurm (Slurm state CANCELLED) on n1", 143},
      {3, Status::crash, "ended by signal 9 on n1", 137},
      {7, Status::refused, "refused by Slurm (BadConstraints)", 0},
      {11, Status::crash, "its node failed (Slurm state NODE_FAIL) on n2", 143},
  };
  for (const auto& [i, status, reason, exit_code] : cases) {
    const Outcome outcome = outcome_of(states[i]);
    EXPECT_STREQ(name(outcome.status), name(status)) << i;
    EXPECT_EQ(outcome.reason, reason);
    EXPECT_EQ(outcome.exit_code, exit_code) << reason;
  }
}

TEST(SlurmState, KnowsEveryEnd) {
  const std::vector<std::pair<std::string, Status>> ends{
      {"TIMEOUT", Status::timeout},     {"DEADLINE", Status::timeout}, {"OUT_OF_MEMORY", Status::oom},
      {"CANCELLED", Status::cancelled}, {"NODE_FAIL", Status::crash},  {"BOOT_FAIL", Status::crash},
      {"PREEMPTED", Status::crash},     {"REVOKED", Status::crash},
  };
  for (const auto& [word, status] : ends) {
    TaskState state;
    state.state = word;
    EXPECT_TRUE(state.final()) << word;
    EXPECT_STREQ(name(outcome_of(state).status), name(status)) << word;
    EXPECT_NE(outcome_of(state).reason.find(word), std::string::npos) << word;
  }
  for (const char* word :
       {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "STOPPED", ""}) {
    TaskState state;
    state.state = word;
    EXPECT_FALSE(state.final()) << word;
  }
}

// The file of jobcomp/filetxt, Slurm 22.05.8. sbatch refused the first; the second are the tasks of an array
// that were cancelled before they started.
constexpr const char* kJobcomp =
    R"(JobId=2 UserId=root(0) GroupId=root(0) Name=ty-abc JobState=FAILED Partition=shared TimeLimit=UNLIMITED StartTime=2026-11-15T05:23:55 EndTime=2026-11-15T05:23:55 NodeList=(null) NodeCnt=0 ProcCnt=0 WorkDir=/tmp/x ReservationName= Tres=cpu=1,mem=1000M,node=1,billing=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2026-11-15T05:23:55 EligibleTime=unknown DerivedExitCode=0:0 ExitCode=0:1
JobId=16 UserId=root(0) GroupId=root(0) Name=ty-t JobState=CANCELLED Partition=shared TimeLimit=UNLIMITED StartTime=2026-11-15T05:35:13 EndTime=2026-11-15T05:35:13 NodeList=(null) NodeCnt=0 ProcCnt=1 WorkDir=/tmp/x ReservationName= Tres=cpu=1,mem=1000M,node=1,billing=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2026-11-15T05:35:10 EligibleTime=unknown DerivedExitCode=0:0 ExitCode=0:0
JobId=5 UserId=root(0) GroupId=root(0) Name=ty-abc JobState=FAILED Partition=shared TimeLimit=1 StartTime=2026-11-15T05:23:55 EndTime=2026-11-15T05:23:56 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/tmp/a b%c'd ReservationName= Tres=cpu=1,mem=1000M,node=1,billing=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2026-11-15T05:23:55 EligibleTime=2026-11-15T05:23:55 ArrayJobId=1 ArrayTaskId=1 DerivedExitCode=0:0 ExitCode=3:0
)";

TEST(SlurmState, IsReadFromTheFileOfCompletedJobs) {
  const auto states = parse_jobcomp(kJobcomp);
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(outcome_of(states[0]).status, Status::refused);
  EXPECT_EQ(states[1].job_id, 16);
  EXPECT_EQ(states[1].task, -1);
  EXPECT_EQ(outcome_of(states[1]).status, Status::cancelled);
  EXPECT_EQ(states[2].job_id, 1);
  EXPECT_EQ(states[2].task, 1);
  EXPECT_EQ(outcome_of(states[2]).exit_code, 3);
  EXPECT_EQ(states[2].ended_seconds - states[2].started_seconds, 1);
  const auto started = static_cast<std::time_t>(states[2].started_seconds);
  std::tm local{};
  ::localtime_r(&started, &local);
  EXPECT_EQ(local.tm_hour, 5);
  EXPECT_EQ(local.tm_min, 23);
}

// The text is the output of sacct --allocations --noheader --parsable2 with kSacctFormat.
constexpr const char* kSacct = R"(7_0|COMPLETED|0:0|n1|1794720235|1794720236
7_1|FAILED|3:0|n2|1794720235|1794720236
7_2|CANCELLED by 1000|0:0|n1|1794720235|1794720238
7_3|TIMEOUT|0:0|n[1-2]|1794720235|1794720325
7_4|OUT_OF_MEMORY|0:125|n1|1794720235|1794720238
7_[5-6%4]|PENDING|0:0|None assigned|Unknown|Unknown
7_0.batch|COMPLETED|0:0|n1|1794720235|1794720236
8|RUNNING|0:0|n1|1794720235|Unknown
)";

TEST(SlurmState, IsReadFromTheAccounting) {
  const auto states = parse_sacct(kSacct);
  ASSERT_EQ(states.size(), 8u);
  const std::vector<Status> ends{Status::failed, Status::failed, Status::cancelled, Status::timeout,
                                 Status::oom};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(states[i].job_id, 7);
    EXPECT_EQ(states[i].task, static_cast<int>(i));
    EXPECT_STREQ(name(outcome_of(states[i]).status), name(ends[i])) << i;
  }
  EXPECT_EQ(states[3].nodes, "n[1-2]");
  EXPECT_EQ(states[5].task, 5);
  EXPECT_EQ(states[6].task, 6);
  EXPECT_FALSE(states[6].final());
  EXPECT_EQ(states[6].nodes, "");
  EXPECT_EQ(states[7].task, -1);
}

TEST(SlurmState, PassesOverWhatIsNone) {
  EXPECT_TRUE(parse_scontrol("slurm_load_jobs error: Invalid job id specified\n").empty());
  EXPECT_TRUE(parse_jobcomp("\n\nJob 12 done\n").empty());
  EXPECT_TRUE(parse_sacct("Slurm accounting storage is disabled\n").empty());
  EXPECT_TRUE(parse_scontrol("JobId=1 ArrayJobId=1 ArrayTaskId=0-... JobState=PENDING\n").empty());
}

}  // namespace
}  // namespace trainyard::study::slurm
