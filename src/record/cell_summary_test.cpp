#include "record/cell_summary.h"

#include <gtest/gtest.h>

#include "record/test_psc_runs.h"
#include "stats/test_series.h"

namespace trainyard::record {

namespace {

using Cells = std::vector<std::vector<MeasuredRun>>;

// Makes three nodes of 0.8, 1 and 1.25, unevenly used: every cell has runs on two of them.
Cells made_up_cells(stats::TestNoise& noise, double node_reach, double spread) {
  const double ratios[] = {1 - 0.2 * node_reach, 1, 1 + 0.25 * node_reach};
  Cells cells;
  for (int cell = 0; cell < 6; ++cell) {
    cells.emplace_back();
    for (int run = 0; run < 6; ++run) {
      const int node = (cell + run % 2) % 3;
      cells.back().push_back({"n" + std::to_string(node),
                              100.0 * (cell + 1) * ratios[node] * std::exp(spread * noise.normal())});
    }
  }
  return cells;
}

TEST(NodeEffects, AreFoundThroughCellsThatShareNodes) {
  stats::TestNoise noise(1);
  const NodeEffects effects = find_node_effects(made_up_cells(noise, 1, 0.009));
  ASSERT_EQ(effects.nodes.size(), 3u);
  EXPECT_TRUE(effects.differ);
  EXPECT_EQ(effects.nodes[0].name, "n0");
  EXPECT_NEAR(effects.nodes[0].ratio, 0.8, 0.01);
  EXPECT_NEAR(effects.nodes[2].ratio, 1.25, 0.01);
  EXPECT_EQ(effects.nodes[1].runs, 12);
  EXPECT_GT(effects.run_spread, 0.1);
  EXPECT_NEAR(effects.node_spread, 0.009, 0.003);
}

TEST(NodeEffects, AreNoneWhereNodesAreAlike) {
  stats::TestNoise noise(2);
  int alarms = 0;
  for (int i = 0; i < 200; ++i) alarms += find_node_effects(made_up_cells(noise, 0, 0.05)).differ;
  EXPECT_LE(alarms, 20);  // 5 % of 200, and three standard errors
}

TEST(NodeEffects, NeedACellOnTwoNodes) {
  const Cells cells{{{"a", 100}, {"a", 101}}, {{"b", 100}, {"b", 101}}};
  EXPECT_TRUE(find_node_effects(cells).nodes.empty());
  EXPECT_FALSE(find_node_effects(cells).differ);
}

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
  stats::TestNoise noise(1);
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
  // Five nodes tell less than twenty runs on one of them would.
  EXPECT_LT(summary.interval.low, 72);
  EXPECT_GT(summary.interval.high, 128);
}

TEST(CellSummary, NodesThatDoNotDifferArePooled) {
  stats::TestNoise noise(2);
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
