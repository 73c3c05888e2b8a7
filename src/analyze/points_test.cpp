#include "analyze/point.h"

#include <gtest/gtest.h>

#include "analyze/analysis.h"
#include "analyze/op_breakdown.h"
#include "analyze/roofline.h"
#include "analyze/speedup.h"
#include "analyze/test_points.h"
#include "base/error.h"

namespace trainyard::analyze {
namespace {

record::RunRecord run(std::int64_t layers, std::int64_t batch, double images_per_second) {
  record::RunRecord run;
  run.asked = {
      {"layers", layers}, {"batch", batch}, {"seed", std::int64_t{1}}, {"device", std::string("cpu")}};
  run.images_per_step = static_cast<double>(batch);
  run.images_per_second = images_per_second;
  return run;
}

TEST(Points, RunsThatAgreeAreOnePoint) {
  std::vector<record::RunRecord> runs{run(4, 8, 100), run(4, 8, 400), run(4, 16, 160), run(2, 8, 1),
                                      run(4, 8, 200)};
  runs[1].asked["seed"] = std::int64_t{2};
  runs[3].status = record::Status::oom;
  runs[3].reason = "too large";
  const std::vector<Point> points = make_points(runs);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].runs, 3);
  EXPECT_EQ(points[0].metric("images_per_second"), 200);
  EXPECT_EQ(points[0].metric("step_seconds"), 0.04);
  EXPECT_TRUE(std::isnan(points[0].metric("parameters")));
  EXPECT_EQ(points[2].status, record::Status::oom);
  EXPECT_EQ(points[2].reason, "too large");
  EXPECT_EQ(dimensions_of(points), std::vector<std::string>{"batch"});  // no good point has another depth
  EXPECT_EQ(metrics_of(points), (std::vector<std::string>{"images_per_second", "step_seconds"}));
}

TEST(Points, AnAttemptThatWentWellSpeaksForThePoint) {
  std::vector<record::RunRecord> runs{run(4, 8, 100), run(4, 8, 100)};
  for (const std::size_t failed : {0u, 1u}) {
    std::vector<record::RunRecord> copy = runs;
    copy[failed].status = record::Status::crash;
    const std::vector<Point> points = make_points(copy);
    EXPECT_TRUE(points[0].ok());
    EXPECT_EQ(points[0].runs, 1);
  }
}

TEST(Speedup, JoinsOnKeysAndSummarises) {
  std::vector<Point> a, b;
  for (const auto& [width, ratio] : {std::pair{32, 0.5}, {64, 2.0}, {128, 4.0}}) {
    a.push_back(make_point({{"width", width}, {"batch", 8}}, {{"images_per_second", 10}}));
    b.push_back(make_point({{"batch", 8}, {"width", width}}, {{"images_per_second", 10 * ratio}}));
    a.back().keys["device"] = std::string("T4");
    b.back().keys["device"] = std::string("A100");
  }
  b.push_back(make_point({{"width", 256}, {"batch", 8}}, {{"images_per_second", 1}}));
  b.back().keys["device"] = std::string("A100");
  a[2].metrics.erase("images_per_second");
  EXPECT_EQ(keys_apart(a, b), std::set<std::string>{"device"});
  EXPECT_EQ(join_points(a, b, "images_per_second", {}).size(), 0u);
  const std::vector<JoinedPoint> joined = join_points(a, b, "images_per_second", {"device"});
  ASSERT_EQ(joined.size(), 2u);
  const RatioSummary summary = summarise_ratios(joined);
  EXPECT_EQ(summary.mean, 1.25);
  EXPECT_EQ(summary.median, 1.25);
  EXPECT_NEAR(summary.geometric_mean, 1, 1e-12);
  EXPECT_EQ(summary.below_one, 0.5);
  EXPECT_EQ(ratios_by(joined, "width").at(64).mean, 2);
  EXPECT_EQ(ratio_points(joined)[1].metric("speedup"), 2);
}

TEST(HeatMap, PivotsAndMarksMemoryThatRanOut) {
  std::vector<Point> points;
  for (const std::int64_t width : {32, 64})
    for (const std::int64_t batch : {1, 2})
      for (const std::int64_t inputs : {5, 9})
        points.push_back(make_point({{"width", width}, {"batch", batch}, {"inputs", inputs}, {"layers", 3}},
                                    {{"use", static_cast<double>(width * batch + inputs)}}));
  points[6].status = record::Status::oom;
  points[7].status = record::Status::failed;
  points[0].status = record::Status::oom;
  points.erase(points.begin() + 2, points.begin() + 4);  // width 32, batch 2: never planned
  const HeatMap map = make_heat_map(points, {"layers", "width", "inputs", "batch"},
                                    [](const Point& p) { return p.metric("use"); });
  EXPECT_EQ(map.column, "batch");
  EXPECT_EQ(map.row, "width");
  EXPECT_EQ(map.panel, "layers");
  EXPECT_EQ(map.merged, std::vector<std::string>{"inputs"});
  EXPECT_EQ(map.find(1, 64, 3)->value, 64 + 7);
  EXPECT_EQ(map.find(1, 32, 3)->value, 32 + 9);
  EXPECT_EQ(map.find(1, 32, 3)->failed, 1);
  EXPECT_EQ(map.find(2, 64, 3)->status, record::Status::oom);
  EXPECT_TRUE(std::isnan(map.find(2, 64, 3)->value));
  EXPECT_EQ(map.find(2, 32, 3), nullptr);
  EXPECT_THROW(make_heat_map(points, {"width"}, [](const Point&) { return 1.0; }), Error);
}

TEST(Roofline, PlacesStepsAndOpsBelowTheirRoofs) {
  std::vector<Point> points{
      make_point({{"width", 1}},
                 {{"flops_per_step", 4e9}, {"bytes_per_step", 1e9}, {"flops_per_second", 2e9}}),
      make_point({{"width", 2}}, {{"flops_per_byte", 20}, {"peak_fraction", 0.5}}),
      make_point({{"width", 3}}, {{"images_per_second", 20}})};
  points[1].ops = {{"matmul", 0.7, kUnknown, 50, 1, 0.9, 1},
                   {"while", 0.2, kUnknown, 9, 1, 0.3, 1},
                   {"copy", 0.005, 1, 1, 1, 0.1, 1}};
  points[0].ops = {{"matmul", 1, 2, 4e9, 1e9, kUnknown, 1}};
  points[0].metrics["peak_flops_per_second"] = 8e9;
  const Roofs roofs = find_roofs(points, {0, 1e9});
  EXPECT_EQ(roofs.flops_per_second, 8e9);
  EXPECT_EQ(roofs.ridge(), 8);
  EXPECT_EQ(roofs.attainable(4), 4e9);
  EXPECT_EQ(roofs.attainable(40), 8e9);
  const std::vector<RooflinePoint> steps = model_roofline(points, roofs), ops = op_roofline(points, roofs);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].flops_per_byte, 4);
  EXPECT_EQ(steps[0].peak_fraction, 0.25);
  EXPECT_EQ(count_below_ridge(steps), 1u);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].peak_fraction, 0.25);  // 4e9 in 2 s
  EXPECT_EQ(ops[1].peak_fraction, 0.9);
  EXPECT_EQ(best_utilisation(points, roofs)->point, &points[1]);
  EXPECT_TRUE(model_roofline(points, {}).empty());
}

TEST(OpBreakdown, AveragesSharesOverPoints) {
  std::vector<Point> points{make_point({{"batch", 1}}, {}), make_point({{"batch", 2}}, {}),
                            make_point({{"batch", 3}}, {})};
  points[0].ops = {{"a", 0.2, 0.1, 1, 1, 0.5, 1}, {"b", 0.8, 0.4, 2, 2, kUnknown, 1}};
  points[1].ops = {{"a", 1, 0.4, 4, 4, 0.7, 1},
                   {"while", 1, 0.4, 4, 4, 7, 1}};  // a loop, of which a is a part
  const std::vector<CategoryShare> shares = break_down(points);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].category, "a");
  EXPECT_DOUBLE_EQ(shares[0].time_fraction, 0.6);
  EXPECT_DOUBLE_EQ(shares[0].peak_fraction, 0.6);
  EXPECT_DOUBLE_EQ(shares[1].time_fraction, 0.4);
  EXPECT_TRUE(std::isnan(shares[1].peak_fraction));
  EXPECT_DOUBLE_EQ(break_down(points, {50, 0})[1].peak_fraction, 0.1);  // 2 in 0.4 s
  EXPECT_EQ(break_down_by(points, "batch").at(1)[0].category, "b");
  EXPECT_EQ(break_down_by(points, "batch").size(), 2u);
}

TEST(OpBreakdown, ReadsSharesOrSecondsFromRecords) {
  record::RunRecord measured = run(1, 8, 4);  // two seconds a step
  measured.details["ops"] =
      R"({"rounds":3,"by_category":[{"category":"gemm","seconds":1.5,"share":0.75,"flops":3,"bytes":4,"count":2},
          {"category":"copy","seconds":0.5,"share":0.25,"bytes":6,"count":1}]})";
  const std::vector<OpCategory> ops = op_categories_of(measured);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].time_fraction, 0.75);
  EXPECT_EQ(ops[0].flops, 3);
  EXPECT_TRUE(std::isnan(ops[1].flops));
  const std::vector<Point> points = make_points({&measured, 1});
  EXPECT_EQ(points[0].metric("bytes_per_step"), 10);
  EXPECT_EQ(points[0].metric("kernels_per_step"), 3);
  measured.details["ops"] = R"({"by_category":[{"category":"gemm","share":0.25}]})";
  EXPECT_EQ(op_categories_of(measured)[0].seconds, 0.5);
  for (const char* none : {"[]", "{}", "3", R"({"by_category":[1]})"}) {
    measured.details["ops"] = none;
    EXPECT_TRUE(op_categories_of(measured).empty()) << none;
  }
}

}  // namespace
}  // namespace trainyard::analyze
