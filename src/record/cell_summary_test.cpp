#include "record/cell_summary.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/test_psc_runs.h"
#include "record/test_series.h"

namespace trainyard::record {
namespace {

using Runs = std::vector<MeasuredRun>;

Runs on_one_node(const std::vector<double>& values) {
  Runs runs;
  for (const double value : values) runs.push_back({"here", value});
  return runs;
}

TEST(CellSummary, OneRunThatWasHeldUpMovesNeitherCentreNorInterval) {
  const CellSummary quiet = describe_cell(on_one_node({100, 101, 99, 102, 98, 100.5, 99.5}));
  const CellSummary busy = describe_cell(on_one_node({100, 101, 99, 102, 98, 100.5, 9.5}));
  EXPECT_NEAR(busy.median, quiet.median, 0.5);
  EXPECT_GT(busy.interval.low, 9.5 + 40);
  EXPECT_GT(busy.run_spread, 0.3);
}

TEST(CellSummary, IntervalStaysAboveZeroHoweverRunsSpread) {
  const CellSummary summary = describe_cell(on_one_node({10, 900}));
  EXPECT_GT(summary.interval.low, 0);
  EXPECT_LT(summary.interval.low, 10);
  EXPECT_GT(summary.interval.high, 900);
}

TEST(CellSummary, OfOneRunHasNoSpread) {
  const CellSummary summary = describe_cell(on_one_node({7}));
  EXPECT_FALSE(summary.has_interval());
  EXPECT_DOUBLE_EQ(summary.median, 7);
  EXPECT_DOUBLE_EQ(summary.interval.half_width(), 0);
  EXPECT_EQ(summary.run_spread, 0);
}

TEST(CellSummary, NodesThatDifferAreTheUnit) {
  TestNoise noise(1);
  Runs runs;
  const double levels[] = {70, 85, 100, 115, 130};
  for (const double level : levels)
    for (int run = 0; run < 4; ++run)
      runs.push_back({"n" + std::to_string(level), level * std::exp(0.009 * noise.normal())});
  const CellSummary summary = describe_cell(runs);
  EXPECT_TRUE(summary.by_node);
  EXPECT_EQ(summary.nodes, 5);
  EXPECT_GT(summary.run_spread, 0.15);
  EXPECT_NEAR(summary.node_spread, 0.009, 0.004);
  EXPECT_NEAR(summary.median, 100, 2);
  // Five nodes say less than twenty runs on one of them would.
  EXPECT_LT(summary.interval.low, 72);
  EXPECT_GT(summary.interval.high, 128);
}

TEST(CellSummary, NodesThatDoNotDifferArePooled) {
  TestNoise noise(2);
  int pooled = 0;
  for (int i = 0; i < 200; ++i) {
    Runs runs;
    for (int run = 0; run < 12; ++run)
      runs.push_back({run % 2 == 0 ? "a" : "b", 100 * std::exp(0.03 * noise.normal())});
    pooled += !describe_cell(runs).by_node;
  }
  EXPECT_GE(pooled, 180);
}

// Run to run, the published speeds of one configuration spread by 10 to 36 %.
TEST(CellSummary, SpreadOfThePublishedRuns) {
  const struct {
    const char* gpu;
    int gpus;
    double spread;
  } published[] = {
      {"k80", 1, 0.36}, {"k80", 2, 0.26}, {"k80", 4, 0.21}, {"p100", 1, 0.10}, {"p100", 2, 0.16}};
  std::size_t seen = 0;
  for (const auto& expected : published) {
    Runs runs;
    for (const PscRow& row : kPscRows) {
      if (row.gpu != std::string(expected.gpu) || row.gpus != expected.gpus) continue;
      runs.push_back({row.local_node, row.local});
      if (row.scratch_node != nullptr) runs.push_back({row.scratch_node, row.scratch});
    }
    seen += runs.size();
    EXPECT_NEAR(describe_cell(runs).run_spread, expected.spread, 0.01) << expected.gpu << expected.gpus;
  }
  EXPECT_EQ(seen, 58u);
}

}  // namespace
}  // namespace trainyard::record
