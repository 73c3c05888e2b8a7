#include "record/build.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "record/run_record.h"

namespace trainyard::record {

namespace {

RunRecord run_with(Provenance facts) {
  RunRecord run;
  run.node = "ip-10-0-0-7";
  run.provenance = std::move(facts);
  return run;
}

TEST(Machine, ProcessorAndCoresMakeIt) {
  EXPECT_EQ(machine_of(run_with({{"cpu", "model", "AMD EPYC 9R14"},
                                 {"cpu", "allowed_cores", std::int64_t{2}},
                                 {"cpu", "logical_cores", std::int64_t{64}}})),
            "AMD EPYC 9R14, 2 cores");
  EXPECT_EQ(machine_of(run_with({{"cpu", "model", "  Intel(R) Xeon(R) CPU           E5645 "},
                                 {"cpu", "allowed_cores", std::int64_t{1}}})),
            "Intel(R) Xeon(R) CPU E5645, 1 core");
  EXPECT_EQ(machine_of(run_with({{"cpu", "vendor", "0x41"}, {"cpu", "allowed_cores", std::int64_t{4}}})),
            "processor of 0x41, 4 cores");
}

TEST(Machine, AContainersShareOfTimeCounts) {
  const auto with_quota = [](double quota) {
    return machine_of(run_with({{"cpu", "model", "AMD EPYC 9R14"},
                                {"cpu", "allowed_cores", std::int64_t{64}},
                                {"cpu", "quota_cores", quota}}));
  };
  EXPECT_EQ(with_quota(2), "AMD EPYC 9R14, 2 cores");
  EXPECT_EQ(with_quota(1.5), "AMD EPYC 9R14, 1.5 cores");
  EXPECT_EQ(with_quota(128), "AMD EPYC 9R14, 64 cores");
}

TEST(Machine, GpusAreCountedByName) {
  Provenance facts{{"cpu", "model", "AMD EPYC 9R14"},
                   {"cpu", "allowed_cores", std::int64_t{16}},
                   {"gpu", "count", std::int64_t{1}},
                   {"gpu0", "name", "NVIDIA H200"}};
  EXPECT_EQ(machine_of(run_with(facts)), "AMD EPYC 9R14, 16 cores, NVIDIA H200 x1");
  facts.push_back({"gpu1", "name", "NVIDIA A100"});
  facts.push_back({"gpu2", "name", "NVIDIA H200"});
  EXPECT_EQ(machine_of(run_with(facts)), "AMD EPYC 9R14, 16 cores, NVIDIA A100 x1, NVIDIA H200 x2");
  EXPECT_EQ(machine_of(run_with({{"gpu0", "name", "NVIDIA H200"}})), "NVIDIA H200 x1");
}

TEST(Machine, WhatTheRecordDoesNotSayIsEmpty) {
  EXPECT_EQ(machine_of(run_with({})), "");
  EXPECT_EQ(
      machine_of(run_with({{"cpu", "allowed_cores", std::int64_t{2}}, {"gpu", "count", std::int64_t{0}}})),
      "");
}

RunRecord run_of(const std::string& id, double started_seconds = 0) {
  RunRecord run;
  run.command = "bench";
  run.started_seconds = started_seconds;
  if (!id.empty()) run.provenance.push_back({"build", "id", id});
  return run;
}

TEST(BuildTest, ANameThatWasGivenCountsFirst) {
  RunRecord run = run_of("5a84b2f3e1c0-7f3a");
  EXPECT_EQ(build_of(run), "5a84b2f3e1c0-7f3a");
  run.words["build"] = "nightly-7";
  EXPECT_EQ(build_of(run), "nightly-7");
  EXPECT_EQ(build_of(RunRecord()), "");
}

TEST(BuildTest, RecordsOfBeforeAreKnownByTheirCommit) {
  RunRecord run;
  run.provenance = {{"build", "commit", std::string("5a84b2f3e1c0aa11bb22")},
                    {"build", "uncommitted_changes", false}};
  EXPECT_EQ(build_of(run), "5a84b2f3e1c0");
  run.provenance[1].value = true;
  EXPECT_EQ(build_of(run), "5a84b2f3e1c0+changed");
}

TEST(BuildTest, AProgramIsNotTheTrainyardThatItUses) {
  RunRecord run = run_of("5a84b2f3e1c0-7f3a");
  run.command = "program";
  EXPECT_EQ(build_of(run), "");
  run.words["build"] = "mine";
  EXPECT_EQ(build_of(run), "mine");
}

TEST(BuildTest, CommitsThatCanBeCheckedOut) {
  EXPECT_EQ(commit_in("5a84b2f3e1c0-7f3a"), "5a84b2f3e1c0");
  EXPECT_EQ(commit_in("5a84b2f"), "5a84b2f");
  EXPECT_EQ(commit_in("5a84b2f3e1c0+9c2d41aa-7f3a"), "");
  EXPECT_EQ(commit_in("v0.3.0-7f3a"), "");
  EXPECT_EQ(commit_in("abc"), "");
}

TEST(BuildTest, TheNewestIsThatOfTheLastRun) {
  const std::vector<RunRecord> runs = {run_of("b", 20), run_of("a", 10), run_of("b", 5), run_of("c", 15)};
  EXPECT_EQ(newest_build(runs), "b");
  EXPECT_EQ(builds_of(runs), (std::vector<std::string>{"b", "a", "c"}));
}

TEST(BuildTest, BeginningsNameABuild) {
  const std::vector<std::string> builds = {"5a84b2f3e1c0-7f3a", "5a84b2f3e1c0+9c2d41aa-7f3a", "ffff0000aaaa"};
  EXPECT_EQ(find_build("ffff", builds), "ffff0000aaaa");
  EXPECT_EQ(find_build("5a84b2f3e1c0+", builds), builds[1]);
  EXPECT_THROW(find_build("5a84", builds), Error);
  EXPECT_THROW(find_build("0", builds), Error);
  EXPECT_EQ(short_names(builds),
            (std::vector<std::string>{"5a84b2f3e1c0-", "5a84b2f3e1c0+", "ffff0000aaaa"}));
  EXPECT_EQ(short_names({"5a84b2f3e1c0-7f3a", "ffff0000aaaa"}),
            (std::vector<std::string>{"5a84b2f", "ffff000"}));
}

TEST(BuildTest, RunsOfTwoBuildsAreNoCell) {
  EXPECT_NE(envelope(run_of("a")), envelope(run_of("b")));
  EXPECT_EQ(envelope(run_of("a")), envelope(run_of("a")));
}

RunRecord attempt_at(int replicate, int attempt, Status status, const char* warning = "") {
  RunRecord run;
  run.id = "c-r" + std::to_string(replicate) + "-a" + std::to_string(attempt);
  run.cell = "c";
  run.replicate = replicate;
  run.attempt = attempt;
  run.status = status;
  if (*warning != '\0') run.warnings.push_back({warning, "something"});
  return run;
}

std::string ids(const std::vector<RunRecord>& runs) {
  std::string text;
  for (const RunRecord& run : runs) text += (text.empty() ? "" : " ") + run.id;
  return text;
}

TEST(AttemptsTest, AnUndisturbedRunSpeaksInsteadOfADisturbedOne) {
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::ok, "load"), attempt_at(1, 2, Status::ok)})), "c-r1-a2");
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::ok), attempt_at(1, 2, Status::ok, "steal")})),
            "c-r1-a1");
}

TEST(AttemptsTest, TheFirstOfEqualRunsSpeaks) {
  EXPECT_EQ(ids(that_speak({attempt_at(1, 2, Status::ok, "load"), attempt_at(1, 1, Status::ok, "load")})),
            "c-r1-a1");
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::ok), attempt_at(1, 2, Status::ok)})), "c-r1-a1");
}

TEST(AttemptsTest, TheLastOfFailedRunsSpeaks) {
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::crash), attempt_at(1, 2, Status::oom)})), "c-r1-a2");
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::ok, "load"), attempt_at(1, 2, Status::oom)})),
            "c-r1-a1");
}

TEST(AttemptsTest, WarningsAboutLastingStatesAreNoDisturbance) {
  EXPECT_FALSE(is_disturbed(attempt_at(1, 1, Status::ok, "governor")));
  EXPECT_FALSE(is_disturbed(attempt_at(1, 1, Status::ok, "nodes")));
  EXPECT_TRUE(is_disturbed(attempt_at(1, 1, Status::ok, "throttle")));
}

TEST(AttemptsTest, OtherReplicatesBuildsAndLooseRunsStay) {
  RunRecord other_build = attempt_at(1, 2, Status::ok), loose = attempt_at(1, 1, Status::ok);
  other_build.words["build"] = "second";
  loose.cell.clear();
  loose.id = "loose";
  EXPECT_EQ(ids(that_speak({attempt_at(1, 1, Status::ok), attempt_at(2, 1, Status::ok), other_build, loose})),
            "c-r1-a1 c-r2-a1 c-r1-a2 loose");
}

}  // namespace

}  // namespace trainyard::record
