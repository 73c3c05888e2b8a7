#include "report/study_view.h"

#include <gtest/gtest.h>

#include "report/test_study.h"

namespace trainyard::report {
namespace {

using record::Value;

Value number(std::int64_t value) { return value; }

TEST(StudyView, FindsWhatVariesAndSortsCellsByIt) {
  TestStudy study = make_test_study(
      "s", {{"threads", {number(8), number(16), number(2)}}, {"network", {word("lenet"), word("alexnet")}}},
      2);
  std::reverse(study.planned.begin(), study.planned.end());  // as a shuffled plan
  const StudyView view = view_of(study);
  ASSERT_EQ(view.axes.size(), 2u);
  EXPECT_EQ(view.axes[0].name, "network");  // words first
  EXPECT_EQ(view.axes[1].name, "threads");
  EXPECT_TRUE(view.axes[1].numeric);
  EXPECT_EQ(view.axes[1].values, (std::vector<Value>{number(2), number(8), number(16)}));
  EXPECT_EQ(view.find_axis("optimizer"), nullptr);  // the same everywhere
  ASSERT_EQ(view.cells.size(), 6u);
  EXPECT_EQ(view.cells[0].label, "alexnet, threads 2");
  EXPECT_EQ(view.cells[5].label, "lenet, threads 16");
}

TEST(StudyView, CountsEveryExpectedRunOnce) {
  TestStudy study = make_test_study("s", {{"batch", {number(16), number(32)}}}, 3);
  fail_run(study.run(0, 2), record::Status::oom, "killed");
  lose_run(study, 0, 3);
  const StudyView view = view_of(study);
  EXPECT_EQ(view.cells[0].expected(), 3);
  EXPECT_EQ(view.cells[0].done.size(), 1u);
  ASSERT_EQ(view.cells[0].failed.size(), 1u);
  EXPECT_EQ(view.cells[0].failed[0]->reason, "killed");
  EXPECT_EQ(view.cells[0].missing, 1);
  EXPECT_FALSE(view.cells[0].complete());
  EXPECT_TRUE(view.cells[1].complete());
}

TEST(StudyView, TheAttemptThatWentWellSpeaksForItsReplicate) {
  TestStudy study = make_test_study("s", {{"batch", {number(16), number(32)}}}, 1);
  record::RunRecord again = study.run(0, 1), late = study.run(1, 1);
  fail_run(study.run(0, 1), record::Status::crash, "signal 11");  // then it went well
  again.attempt = 2;
  again.id += "-again";
  fail_run(late, record::Status::timeout, "late");  // went well, and was then tried once more
  late.attempt = 2;
  late.id += "-again";
  study.runs.push_back(again);
  study.runs.push_back(late);
  const StudyView view = view_of(study);
  for (const CellView& cell : view.cells) {
    EXPECT_EQ(cell.done.size(), 1u);
    EXPECT_TRUE(cell.failed.empty());
  }
  EXPECT_EQ(view.cells[0].done[0]->attempt, 2);
  EXPECT_EQ(view.cells[1].done[0]->attempt, 1);
}

TEST(StudyView, RunsWithoutAPlanMakeCellsOfWhatTheyWereAsked) {
  TestStudy study = make_test_study("s", {{"batch", {number(16), number(32)}}}, 2);
  for (record::RunRecord& run : study.runs) run.cell.clear();
  const StudyView view = make_study_view("", {}, study.runs);
  ASSERT_EQ(view.cells.size(), 2u);
  EXPECT_EQ(view.cells[1].label, "batch 32");
  EXPECT_EQ(view.cells[1].done.size(), 2u);
}

TEST(StudyView, CellsThatLackASettingStillHaveAPlace) {
  TestStudy study = make_test_study("s", {{"devices", {number(1), number(2)}}}, 1);
  study.planned[1].settings["gpu"] = word("p100");
  const StudyView view = view_of(study);
  EXPECT_EQ(view.cells[0].label, "devices 1");
  EXPECT_EQ(view.cells[1].label, "devices 2");  // which tells it apart
  ASSERT_NE(view.find_axis("gpu"), nullptr);
  EXPECT_TRUE(is_absent(view.cells[0].setting("gpu")));
  study.planned[0].settings.erase("devices");
  const StudyView without = view_of(study);
  ASSERT_NE(without.find_axis("devices"), nullptr);
  EXPECT_TRUE(without.find_axis("devices")->numeric);
  EXPECT_EQ(without.cells[0].label, "-");
}

TEST(CellThroughput, IntervalIsThatOfTheMedianBetweenRuns) {
  std::vector<record::RunRecord> runs(3);
  std::vector<const record::RunRecord*> pointers;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].images_per_second = static_cast<double>(i + 1);
    runs[i].statistics.steps = 100;
    runs[i].statistics.unsteady_steps = 4;
    runs[i].statistics.steady = i > 0;
    runs[i].statistics.legacy.mean_speed = static_cast<double>(i + 1);
    runs[i].statistics.legacy.speed_jitter = 0.1 * static_cast<double>(i + 1);
    pointers.push_back(&runs[i]);
  }
  const CellThroughput speed = summarise_throughput(pointers);
  EXPECT_EQ(speed.runs, 3);
  EXPECT_DOUBLE_EQ(speed.mean, 2);
  EXPECT_DOUBLE_EQ(speed.median, 2);
  EXPECT_NEAR(speed.interval.low, 1 / std::pow(3.0, 0.8127), 1e-3);  // record::order_interval of logarithms
  EXPECT_NEAR(speed.interval.high, 3 * std::pow(3.0, 0.8127), 1e-3);
  EXPECT_NEAR(speed.run_to_run, 0.5, 1e-12);
  EXPECT_NEAR(speed.jitter, 0.1, 1e-12);
  EXPECT_EQ(speed.steps, 300);
  EXPECT_EQ(speed.unsteady_steps, 12);
  EXPECT_EQ(speed.never_steady, 1);
}

TEST(CellThroughput, OneRunHasNoIntervalAndNoRunHasNothing) {
  record::RunRecord run;
  const record::RunRecord* pointer = &run;
  EXPECT_EQ(summarise_throughput({&pointer, 1}).runs, 0);
  run.images_per_second = 7;
  const CellThroughput speed = summarise_throughput({&pointer, 1});
  EXPECT_EQ(speed.runs, 1);
  EXPECT_FALSE(speed.has_interval());
  EXPECT_DOUBLE_EQ(speed.mean, 7);
}

}  // namespace
}  // namespace trainyard::report
