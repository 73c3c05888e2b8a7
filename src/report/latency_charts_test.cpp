#include "base/json.h"
#include "report/chart.h"

#include <gtest/gtest.h>

#include "report/test_study.h"

namespace trainyard::report {
namespace {

using record::Value;

std::vector<Json> points(const Chart& chart) {
  std::vector<Json> found;
  const Json spec = parse_json(chart.spec);
  for (const Json& row : spec.at("data").at("values"))
    if (row.at("kind") == "point") found.push_back(row);
  return found;
}

std::vector<Value> batches() { return {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}}; }

// Runs of forward passes whose latencies are what the test says.
void infer(record::RunRecord& run, double median, double p99, double speed) {
  run.words["mode"] = "infer";
  run.statistics.median = median;
  run.statistics.p99 = p99;
  run.images_per_second = speed;
}

TEST(LatencyCharts, AreNoneWhereNothingInfers) {
  EXPECT_TRUE(make_latency_charts(view_of(make_test_study("s", {{"batch", batches()}}, 1))).empty());
}

TEST(LatencyCharts, MarkThePointsThatNoOtherBeats) {
  TestStudy study =
      make_test_study("s", {{"threads", {std::int64_t{1}, std::int64_t{2}}}, {"batch", batches()}}, 1);
  // With one thread batch 16 is slower than batch 4 by either measure; two threads beat batch 1 of one
  // thread.
  const double latency[] = {0.004, 0.010, 0.050, 0.003, 0.008, 0.024};
  const double speed[] = {250, 400, 320, 333, 500, 667};
  for (std::size_t cell = 0; cell < 6; ++cell)
    infer(study.run(cell, 1), latency[cell], 2 * latency[cell], speed[cell]);
  const std::vector<Chart> charts = make_latency_charts(view_of(study));
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].id, "latency");
  const std::vector<Json> drawn = points(charts[0]);
  ASSERT_EQ(drawn.size(), 6u);
  for (const Json& point : drawn) {
    EXPECT_EQ(point["front"].get<bool>(), point["series"] == "threads 2") << point;
    EXPECT_DOUBLE_EQ(point["tail"].get<double>(), 2 * point["latency"].get<double>());
  }
  EXPECT_EQ(drawn[2]["name"], "4");
  EXPECT_EQ(drawn[2]["place"], 1);
  EXPECT_DOUBLE_EQ(drawn[2]["latency"].get<double>(), 10);
  EXPECT_EQ(drawn[2]["speed"], 400);
}

TEST(LatencyCharts, NetworksHavePanelsAndFrontsOfTheirOwn) {
  TestStudy study = make_test_study("s", {{"network", {word("a"), word("bb")}}, {"batch", batches()}}, 2);
  for (record::RunRecord& run : study.runs) {
    const double batch = record::number_or(run.asked["batch"], 0),
                 slow = record::to_text(run.asked["network"]) == "a" ? 1 : 100;
    infer(run, slow * 1e-3 * batch * (1 + run.replicate), slow * 4e-3 * batch, (100 + batch) / slow);
  }
  const Chart chart = make_latency_charts(view_of(study)).at(0);
  const Json spec = parse_json(chart.spec);
  EXPECT_EQ(spec["facet"]["sort"], Json({"a", "bb"}));
  for (const Json& point : points(chart)) {
    EXPECT_TRUE(point["front"].get<bool>());
    EXPECT_EQ(point["runs"], 2);
  }
  EXPECT_DOUBLE_EQ(points(chart)[0]["latency"].get<double>(), 2.5);  // the median of both runs
}

TEST(LatencyCharts, TokensAndRequestsHaveTheirOwn) {
  TestStudy study = make_test_study("s", {{"batch", batches()}}, 1);
  for (record::RunRecord& run : study.runs) {
    run.words["mode"] = "decode";
    run.figures["median_token_seconds"] = 0.01;
    run.figures["p99_token_seconds"] = 0.02;
    run.figures["decode_tokens_per_second"] = record::number_or(run.asked["batch"], 0) / 0.01;
  }
  EXPECT_EQ(make_latency_charts(view_of(study)).at(0).id, "latency-tokens");
  EXPECT_EQ(points(make_latency_charts(view_of(study)).at(0)).at(2)["speed"], 1600);

  TestStudy served = make_test_study("s", {{"arrivals", {word("poisson:100"), word("poisson:200")}}}, 1);
  for (record::RunRecord& run : served.runs) {
    run.words["mode"] = "infer";
    run.figures["median_request_seconds"] = 0.01;
    run.figures["p99_request_seconds"] = 0.03;
    run.figures["requests_per_second"] = 99;
  }
  const Chart requests = make_latency_charts(view_of(served)).at(0);
  EXPECT_EQ(requests.id, "latency-requests");
  EXPECT_EQ(points(requests).at(1)["name"], "poisson:200");
}

TEST(LatencyCharts, SayWhyTheyAreLeftOut) {
  TestStudy study = make_test_study("s", {{"threads", {std::int64_t{1}, std::int64_t{2}}}}, 1);
  for (record::RunRecord& run : study.runs) infer(run, 0.01, 0.02, 100);
  EXPECT_EQ(make_latency_charts(view_of(study)).at(0).left_out,
            "neither 'batch' nor 'arrivals' varies between its cells");
  std::vector<Value> many;
  for (std::int64_t i = 1; i <= 9; ++i) many.emplace_back(i);
  TestStudy lines = make_test_study("s", {{"threads", many}, {"batch", batches()}}, 1);
  for (record::RunRecord& run : lines.runs) infer(run, 0.01, 0.02, 100);
  EXPECT_EQ(make_latency_charts(view_of(lines)).at(0).left_out,
            "9 lines in 1 panel are too many to tell apart");
}

}  // namespace
}  // namespace trainyard::report
