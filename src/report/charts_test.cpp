#include "base/json.h"
#include "report/chart.h"

#include <gtest/gtest.h>

#include "report/series.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

using record::Value;

std::vector<Value> numbers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

// Returns the chart's data rows of a kind.
std::vector<Json> rows(const Chart& chart, const std::string& kind) {
  std::vector<Json> found;
  const Json spec = parse_json(chart.spec);
  for (const Json& row : spec.at("data").at("values"))
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
  const Chart chart = make_throughput_charts(view).front();
  const std::vector<Json> cells = rows(chart, "cell");
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0]["median"].get<double>(), view.cells[0].throughput.median);
  EXPECT_EQ(cells[0]["low"].get<double>(), view.cells[0].throughput.interval.low);
  EXPECT_EQ(cells[0]["cell"], "a, batch 16");
  EXPECT_EQ(rows(chart, "run").size(), 9u);
  ASSERT_EQ(rows(chart, "none").size(), 1u);
  EXPECT_EQ(rows(chart, "none")[0]["text"], "no result: oom");
}

TEST(Charts, NoIntervalIsDrawnBelowZero) {
  TestStudy study = make_test_study("s", {{"batch", numbers({16, 32})}}, 2);
  *study.run(0, 1).images_per_second *= 9;
  const StudyView view = view_of(study);
  EXPECT_GT(view.cells[0].throughput.interval.low, 0);
  EXPECT_GT(rows(make_throughput_charts(view).front(), "cell")[0]["low"], 0);
  EXPECT_GT(rows(make_batch_chart(view), "cell")[0]["low"], 0);
}

TEST(Charts, ScalingHasItsIdealAndIsTotalAndPerOne) {
  TestStudy study = make_test_study("s", {{"threads", numbers({2, 4, 8})}}, 2);
  const StudyView view = view_of(study);
  const Chart chart = make_scaling_charts(view).front();
  const std::vector<Json> cells = rows(chart, "cell");
  ASSERT_EQ(cells.size(), 6u);  // total and per thread
  const double base = view.cells[0].throughput.median, last = view.cells[2].throughput.median;
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
  EXPECT_FALSE(apart.has_panels());
  EXPECT_EQ(apart.names().size(), 10u);
  const StudyView more = view_of(make_test_study("s",
                                                 {{"batch", numbers({16, 32})},
                                                  {"mode", {word("in"), word("ps")}},
                                                  {"threads", numbers({1, 2, 3, 4, 5, 6})}},
                                                 1));
  const Series panelled(more, "batch");
  EXPECT_EQ(panelled.panels(), (std::vector<std::string>{"in", "ps"}));
  EXPECT_EQ(panelled.names().size(), 6u);
}

TEST(Charts, StepTimesKeepPrefixesAndOutliers) {
  const StudyView view = view_of(make_test_study("s", {{"batch", numbers({16, 32})}}, 2));
  const Chart chart = make_steps_chart(view);
  const std::vector<Json> prefixes = rows(chart, "prefix"), steps = rows(chart, "step");
  ASSERT_EQ(prefixes.size(), 4u);
  EXPECT_EQ(prefixes[0]["steps"], 5);
  EXPECT_EQ(prefixes[1]["steps"], 8);
  EXPECT_EQ(prefixes[1]["from"], 5.5);
  EXPECT_EQ(steps.size(), 2u * 2 * 65);
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), [](const Json& row) { return row["outlier"] == true; }),
            8);
  EXPECT_EQ(steps[35]["step"], 36);  // the outlier at timed step 30, after 5 of warm-up
  EXPECT_EQ(steps[35]["milliseconds"].get<double>(), view.cells[0].done[0]->step_seconds[30] * 1000);
}

TEST(Charts, ManyCellsShowTheStepsOfThoseThatAgreeLeast) {
  TestStudy study =
      make_test_study("s", {{"batch", numbers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})}}, 2);
  *study.run(13, 1).images_per_second *= 3;
  const Chart chart = make_steps_chart(view_of(study));
  const Json panels = parse_json(chart.spec)["facet"]["sort"];
  EXPECT_EQ(panels.size(), 6u);
  EXPECT_EQ(panels[0], "batch 14");
  EXPECT_NE(chart.explanation.find("6 of 14 cells"), std::string::npos);
}

// Returns a sweep over fully connected networks on two devices, with what its steps do and what their ops
// took.
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
  // A chart a device: what one has to say needs no axis of the other.
  EXPECT_EQ(charts["heat-map"].title, "Utilisation of the arithmetic: new");
  EXPECT_EQ(charts["heat-map-2"].title, "Utilisation of the arithmetic: old");
  EXPECT_EQ(rows(charts["heat-map"], "value").size() + rows(charts["heat-map-2"], "value").size(), 35u);
  EXPECT_EQ(rows(charts["heat-map"], "failed").size() + rows(charts["heat-map-2"], "failed").size(), 1u);
  EXPECT_EQ(parse_json(charts["heat-map"].spec)["facet"]["sort"], Json({"layers 2", "layers 8"}));
  EXPECT_EQ(parse_json(charts["heat-map"].spec)["spec"]["encoding"]["x"]["title"], "batch");
  EXPECT_EQ(rows(charts["roofline"], "point").size(), 35u);
  EXPECT_EQ(rows(charts["roofline"], "roof").size(), 3u);
  for (const Json& row : rows(charts["roofline"], "point")) EXPECT_LE(row["used"].get<double>(), 1);
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
  const Chart chart = make_heat_map_charts(analyze::analyse(analyze::make_points(study.runs))).front();
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
  EXPECT_EQ(make_throughput_charts(view).front().left_out, "401 cells are too many for bars");
  EXPECT_EQ(make_batch_chart(view).left_out, "401 cells are too many for lines");
}

// Points of several families, which differ in words and have settings of their own.
TEST(Charts, TheOpsOfEveryPointAddUpToOne) {
  TestStudy study = make_test_study("s",
                                    {{"network", {word("fc"), word("rnn")}},
                                     {"layers", numbers({2, 8})},
                                     {"width", numbers({32, 128})},
                                     {"batch", numbers({16, 64})}},
                                    1);
  for (record::RunRecord& run : study.runs) {
    describe_network(run);
    if (record::to_text(run.asked["network"]) != "rnn") continue;
    run.asked["hidden"] = run.asked["width"];  // the families share the batch alone
    run.asked.erase("width");
  }
  for (std::size_t i = 0; i < study.runs.size(); ++i) study.planned[i].settings = study.runs[i].asked;
  const Chart chart = make_ops_chart(analyze::analyse(analyze::make_points(study.runs)));
  std::map<std::pair<std::string, int>, double> sums;
  for (const Json& row : rows(chart, "share"))
    sums[{row["panel"].get<std::string>(), row["place"].get<int>()}] += row["share"].get<double>();
  EXPECT_EQ(sums.size(), 16u);
  for (const auto& [bar, sum] : sums) EXPECT_NEAR(sum, 1, 1e-9) << bar.first << bar.second;
  EXPECT_EQ(parse_json(chart.spec)["facet"]["sort"], Json({"fc", "rnn"}));
}

TEST(Charts, ManyCellsAreATableWithTheirGaps) {
  TestStudy study = make_test_study("s",
                                    {{"network", {word("a"), word("bb")}},
                                     {"threads", numbers({1, 2})},
                                     {"batch", numbers({2, 4, 8, 16, 32, 64, 128})}},
                                    1);
  fail_run(study.run(3, 1), record::Status::timeout, "late");
  for (std::size_t cell = 7; cell < 14; ++cell) fail_run(study.run(cell, 1), record::Status::oom, "killed");
  const std::vector<Chart> charts = make_throughput_charts(view_of(study));
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].id, "throughput-batch");
  EXPECT_EQ(rows(charts[0], "cell").size(), 20u);
  ASSERT_EQ(rows(charts[0], "none").size(), 1u);
  EXPECT_EQ(rows(charts[0], "none")[0]["text"], "timeout");
  // The row without any number says nothing.
  EXPECT_NE(charts[0].explanation.find("7 cells in rows without any result are not drawn"), std::string::npos)
      << charts[0].explanation;
  for (const Json& row : rows(charts[0], "cell")) {
    EXPECT_GE(row["shade"].get<double>(), 0);
    EXPECT_LE(row["shade"].get<double>(), 1);
  }
}

TEST(Charts, CellsOfDifferentScaleShareNoAxis) {
  TestStudy study =
      make_test_study("s", {{"device", {word("cpu"), word("gpu")}}, {"batch", numbers({16, 32})}}, 1);
  for (record::RunRecord& run : study.runs)
    if (record::to_text(run.asked["device"]) == "gpu") *run.images_per_second *= 100;
  const Json spec = parse_json(make_throughput_charts(view_of(study)).front().spec);
  EXPECT_EQ(spec["facet"]["sort"], Json({"gpu", "cpu"}));
  EXPECT_EQ(spec["resolve"]["scale"]["x"], "independent");
}

TEST(Charts, OneBarSaysNothing) {
  std::map<std::string, std::string> reasons;
  const TestStudy study = make_test_study("s", {{"batch", numbers({16})}, {"staging", {word("local")}}}, 2);
  for (const Chart& chart : make_charts(view_of(study))) reasons[chart.id] = chart.left_out;
  EXPECT_EQ(reasons["throughput"].find("there is one cell only, with "), 0u) << reasons["throughput"];
  EXPECT_EQ(reasons["staging"].find("there is one bar only, of "), 0u) << reasons["staging"];
}

TEST(Charts, WhatIsBeyondThePanelsOfAPageIsFolded) {
  std::vector<Value> networks;
  for (int i = 0; i < 12; ++i) networks.push_back(std::string(1 + static_cast<std::size_t>(i), 'n'));
  const StudyView view = view_of(make_test_study("s",
                                                 {{"network", networks},
                                                  {"optimizer", {word("a"), word("b")}},
                                                  {"threads", numbers({1, 2})},
                                                  {"batch", numbers({1, 2, 4, 8, 16})}},
                                                 1));
  std::size_t open = 0, folded = 0;
  for (const Chart& chart : make_charts(view)) {
    if (chart.spec.empty()) continue;
    const Json spec = parse_json(chart.spec);
    const std::size_t panels = spec.contains("facet") ? spec["facet"]["sort"].size() : 1;
    (chart.folded ? folded : open) += panels;
  }
  EXPECT_LE(open, kMostOpenPanels);
  EXPECT_GT(open, 0u);
  EXPECT_GT(folded, 0u);
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
      EXPECT_TRUE(is_json(chart.spec)) << chart.id;
    }
  EXPECT_EQ(rows(make_throughput_charts(view).front(), "cell")[0]["cell"],
            "</script><b>&\"'\\$rows\n\xEF\xBF\xBD, batch 16");
}

}  // namespace
}  // namespace trainyard::report
