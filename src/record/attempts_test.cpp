#include "record/attempts.h"

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

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
