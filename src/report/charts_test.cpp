#include "report/charts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/series.h"
#include "report/step_trace.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

using nlohmann::json;
using record::Value;

std::vector<Value> numbers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

// The chart's data rows of a kind.
std::vector<json> rows(const Chart& chart, const std::string& kind) {
  std::vector<json> found;
  const json spec = json::parse(chart.spec);
  for (const json& row : spec.at("data").at("values"))
    if (row.at("kind") == kind) found.push_back(row);
  return found;
}

TEST(Charts, SayWhyTheyAreLeftOut) {
  const StudyView view = view_of(make_test_study("s", {{"network", {word("a"), word("bb")}}}, 2));
  std::map<std::string, std::string> reasons;
  for (const Chart& chart : make_charts(view)) {
    EXPECT_NE(chart.spec.empty(), chart.left_out.empty()) << chart.id;
    if (chart.spec.empty()) reasons[chart.id] = chart.left_out;
  }
  EXPECT_EQ(reasons["batch"], "'batch' does not vary in this study");
  EXPECT_EQ(reasons["scaling"],
            "none of threads, devices, gpus, workers, tasks_per_node, nodes varies in this study");
  EXPECT_EQ(reasons["staging"], "no run staged its data");
  EXPECT_FALSE(reasons.contains("throughput"));
  EXPECT_FALSE(reasons.contains("steps"));
}

TEST(Charts, WithoutAnyResultNoneIsDrawn) {
  TestStudy study = make_test_study("s", {{"batch", numbers({16, 32})}}, 1);
  study.runs.clear();
  for (const Chart& chart : make_charts(view_of(study))) EXPECT_EQ(chart.spec, "") << chart.id;
}

TEST(Charts, ThroughputShowsEveryCellRunAndGap) {
  TestStudy study =
      make_test_study("s", {{"network", {word("a"), word("bb")}}, {"batch", numbers({16, 32})}}, 3);
  for (int replicate = 1; replicate <= 3; ++replicate)
    fail_run(study.run(1, replicate), record::Status::oom, "killed");
  const StudyView view = view_of(study);
  const Chart chart = make_throughput_chart(view);
  const std::vector<json> cells = rows(chart, "cell");
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0]["mean"].get<double>(), view.cells[0].throughput.mean);
  EXPECT_EQ(cells[0]["low"].get<double>(), view.cells[0].throughput.interval.low);
  EXPECT_EQ(cells[0]["panel"], "a");
  EXPECT_EQ(cells[0]["cell"], "batch 16");
  EXPECT_EQ(rows(chart, "run").size(), 9u);
  ASSERT_EQ(rows(chart, "none").size(), 1u);
  EXPECT_EQ(rows(chart, "none")[0]["text"], "no result: oom");
}

TEST(Charts, NoIntervalIsDrawnBelowZero) {
  TestStudy study = make_test_study("s", {{"batch", numbers({16, 32})}}, 2);
  *study.run(0, 1).images_per_second *= 9;
  const StudyView view = view_of(study);
  ASSERT_LT(view.cells[0].throughput.interval.low, 0);
  EXPECT_EQ(rows(make_throughput_chart(view), "cell")[0]["low"], 0);
  EXPECT_EQ(rows(make_batch_chart(view), "cell")[0]["low"], 0);
}

TEST(Charts, ScalingHasItsIdealAndIsTotalAndPerOne) {
  TestStudy study = make_test_study("s", {{"threads", numbers({2, 4, 8})}}, 2);
  const StudyView view = view_of(study);
  const Chart chart = make_scaling_charts(view).front();
  const std::vector<json> cells = rows(chart, "cell");
  ASSERT_EQ(cells.size(), 6u);  // total and per thread
  const double base = view.cells[0].throughput.mean, last = view.cells[2].throughput.mean;
  EXPECT_DOUBLE_EQ(cells[4]["ideal"].get<double>(), base * 4);
  EXPECT_DOUBLE_EQ(cells[4]["value"].get<double>(), last);
  EXPECT_DOUBLE_EQ(cells[4]["efficiency"].get<double>(), last / (base * 4));
  EXPECT_EQ(cells[5]["panel"], "Per thread, images per second");
  EXPECT_DOUBLE_EQ(cells[5]["ideal"].get<double>(), base / 2);
  EXPECT_DOUBLE_EQ(cells[5]["value"].get<double>(), last / 8);
  EXPECT_NE(chart.explanation.find("strong scaling"), std::string::npos) << chart.explanation;
}

TEST(Charts, WeakScalingIsToldByTheImagesOfAStep) {
  TestStudy study = make_test_study("s", {{"devices", numbers({1, 2, 4})}}, 1);
  for (record::RunRecord& run : study.runs)
    run.images_per_step = 64 * record::number_or(run.asked["devices"], 0);
  EXPECT_NE(make_scaling_charts(view_of(study)).front().explanation.find("weak scaling"), std::string::npos);
  study.runs[2].images_per_step = 100;
  EXPECT_NE(make_scaling_charts(view_of(study)).front().explanation.find("mixed"), std::string::npos);
}

TEST(Charts, SeriesBecomePanelsWhenColoursRunOut) {
  const StudyView few = view_of(make_test_study(
      "s", {{"batch", numbers({16, 32})}, {"mode", {word("in"), word("ps")}}, {"threads", numbers({1, 2})}},
      1));
  const Series together(few, "batch");
  EXPECT_FALSE(together.has_panels());
  EXPECT_EQ(together.names(),
            (std::vector<std::string>{"in, threads 1", "in, threads 2", "ps, threads 1", "ps, threads 2"}));
  const StudyView many = view_of(make_test_study("s",
                                                 {{"batch", numbers({16, 32})},
                                                  {"mode", {word("in"), word("ps")}},
                                                  {"threads", numbers({1, 2, 3, 4, 5})}},
                                                 1));
  const Series apart(many, "batch");
  EXPECT_EQ(apart.panels(), (std::vector<std::string>{"in", "ps"}));
  EXPECT_EQ(apart.names().size(), 5u);
}

TEST(Charts, StepTimesKeepPrefixesAndOutliers) {
  const StudyView view = view_of(make_test_study("s", {{"batch", numbers({16, 32})}}, 2));
  const Chart chart = make_steps_chart(view);
  const std::vector<json> prefixes = rows(chart, "prefix"), steps = rows(chart, "step");
  ASSERT_EQ(prefixes.size(), 4u);
  EXPECT_EQ(prefixes[0]["steps"], 5);
  EXPECT_EQ(prefixes[1]["steps"], 8);
  EXPECT_EQ(prefixes[1]["from"], 5.5);
  EXPECT_EQ(steps.size(), 2u * 2 * 65);
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), [](const json& row) { return row["outlier"] == true; }),
            8);
  EXPECT_EQ(steps[35]["step"], 36);  // the outlier at timed step 30, after 5 of warm-up
  EXPECT_EQ(steps[35]["milliseconds"].get<double>(), view.cells[0].done[0]->step_seconds[30] * 1000);
}

TEST(Charts, ManyCellsShowTheStepsOfThoseThatAgreeLeast) {
  TestStudy study =
      make_test_study("s", {{"batch", numbers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})}}, 2);
  *study.run(13, 1).images_per_second *= 3;
  const Chart chart = make_steps_chart(view_of(study));
  const json panels = json::parse(chart.spec)["facet"]["sort"];
  EXPECT_EQ(panels.size(), 12u);
  EXPECT_EQ(panels[0], "batch 14");
  EXPECT_NE(chart.explanation.find("12 of 14 cells"), std::string::npos);
}

// A sweep over fully connected networks on two devices, with what its steps do and what their ops took.
TestStudy sweep() {
  TestStudy study = make_test_study("sweep",
                                    {{"device", {word("old"), word("new")}},
                                     {"layers", numbers({2, 8})},
                                     {"width", numbers({32, 128, 512})},
                                     {"batch", numbers({16, 64, 256})}},
                                    1);
  for (record::RunRecord& run : study.runs) describe_network(run);
  fail_run(study.run(17, 1), record::Status::oom, "killed");
  return study;
}

TEST(Charts, ExplainASweep) {
  const StudyView view = view_of(sweep());
  std::map<std::string, Chart> charts;
  for (const Chart& chart : make_charts(view)) charts[chart.id] = chart;
  for (const char* id :
       {"heat-map", "weights", "roofline", "op-roofline", "ops", "limits", "speedup", "speedup-parameters"}) {
    ASSERT_TRUE(charts.contains(id)) << id;
    EXPECT_NE(charts[id].spec, "") << id << ": " << charts[id].left_out;
  }
  EXPECT_EQ(rows(charts["heat-map"], "value").size(), 35u);
  EXPECT_EQ(rows(charts["heat-map"], "failed").size(), 1u);
  EXPECT_EQ(json::parse(charts["heat-map"].spec)["facet"]["sort"],
            json({"new, layers 2", "new, layers 8", "old, layers 2", "old, layers 8"}));
  EXPECT_EQ(rows(charts["roofline"], "point").size(), 35u);
  EXPECT_EQ(rows(charts["roofline"], "roof").size(), 3u);
  for (const json& row : rows(charts["roofline"], "point")) EXPECT_LE(row["used"].get<double>(), 1);
  EXPECT_EQ(rows(charts["op-roofline"], "point").size(), 2 * 35u);
  EXPECT_EQ(rows(charts["ops"], "share").size(), 2 * 35u);
  EXPECT_EQ(rows(charts["limits"], "point").size(), 35u);
  EXPECT_EQ(rows(charts["speedup-parameters"], "point").size(), 17u);
  EXPECT_EQ(rows(charts["speedup"], "value").size(), 2u + 3 + 3);
  EXPECT_FALSE(rows(charts["weights"], "weight").empty());
}

TEST(Charts, AHeatMapMarksMemoryThatRanOut) {
  TestStudy study = make_test_study("s", {{"width", numbers({32, 64})}, {"batch", numbers({16, 64})}}, 2);
  for (int replicate = 1; replicate <= 2; ++replicate)
    fail_run(study.run(3, replicate), record::Status::oom, "killed");
  const Chart chart = make_heat_map_chart(analyze::analyse(analyze::make_points(study.runs)));
  EXPECT_EQ(rows(chart, "value").size(), 3u);
  ASSERT_EQ(rows(chart, "failed").size(), 1u);
  EXPECT_EQ(rows(chart, "failed")[0]["status"], "oom");
  EXPECT_EQ(rows(chart, "failed")[0]["row"], 64);
}

TEST(Charts, SweepsSayWhatTheyLack) {
  std::map<std::string, std::string> reasons;
  for (const Chart& chart : make_charts(view_of(make_test_study("s", {{"width", numbers({32, 64})}}, 1))))
    reasons[chart.id] = chart.left_out;
  EXPECT_EQ(reasons["roofline"], "no run measured both roofs: arithmetic and bandwidth");
  EXPECT_EQ(reasons["ops"], "no run says what its ops took");
  EXPECT_EQ(reasons["limits"], "fewer than nine points say what their steps do and take");
  EXPECT_EQ(reasons["speedup"], "none of device, backend and precision has two values in this study");
}

TEST(Charts, ThousandsOfCellsGetNoBars) {
  std::vector<Value> many;
  for (std::int64_t i = 1; i <= 401; ++i) many.push_back(i);
  const StudyView view = view_of(make_test_study("s", {{"batch", many}}, 1));
  EXPECT_EQ(make_throughput_chart(view).left_out, "401 cells are too many for bars");
  EXPECT_EQ(make_batch_chart(view).left_out, "401 cells are too many for lines");
}

TEST(StepTrace, ThinsLongRunsButKeepsExtremesAndOutliers) {
  record::RunRecord run;
  run.warmup_step_seconds = {9};
  run.step_seconds.assign(10'000, 1.0);
  run.step_seconds[1234] = 0.5;
  run.step_seconds[7000] = 3;
  run.statistics.outliers = {42, 7000};
  const std::vector<TracePoint> points = trace_steps(run, 200);
  EXPECT_LE(points.size(), 210u);
  const auto at = [&](std::int64_t step) {
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const TracePoint& point) { return point.step == step; });
    return found == points.end() ? TracePoint{} : *found;
  };
  EXPECT_EQ(at(1).seconds, 9);       // warm-up
  EXPECT_EQ(at(1236).seconds, 0.5);  // counted from 1, after the warm-up
  EXPECT_EQ(at(7002).seconds, 3);
  EXPECT_TRUE(at(7002).outlier);
  EXPECT_TRUE(at(44).outlier);
}

TEST(Charts, NamesOfAnyKindStayText) {
  const char* hostile = "</script><b>&\"'\\$rows\n\xff";
  TestStudy study =
      make_test_study(hostile, {{hostile, {word(hostile), word("b")}}, {"batch", numbers({16, 32})}}, 2);
  study.run(0, 1).id = hostile;
  const StudyView view = view_of(study);
  for (const Chart& chart : make_charts(view))
    if (!chart.spec.empty()) {
      EXPECT_TRUE(json::accept(chart.spec)) << chart.id;
    }
  EXPECT_EQ(rows(make_throughput_chart(view), "cell")[0]["panel"], "</script><b>&\"'\\$rows\n\xEF\xBF\xBD");
}

}  // namespace
}  // namespace trainyard::report
