#include "record/build.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "record/envelope.h"

namespace trainyard::record {
namespace {

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

}  // namespace
}  // namespace trainyard::record
