#include "record/node_effects.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/test_series.h"

namespace trainyard::record {
namespace {

using Cells = std::vector<std::vector<MeasuredRun>>;

// Three nodes of 0.8, 1 and 1.25, unevenly used: every cell has runs on two of them.
Cells made_up_cells(TestNoise& noise, double node_reach, double spread) {
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
  TestNoise noise(1);
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
  TestNoise noise(2);
  int alarms = 0;
  for (int i = 0; i < 200; ++i) alarms += find_node_effects(made_up_cells(noise, 0, 0.05)).differ;
  EXPECT_LE(alarms, 20);  // 5 % of 200, and three standard errors
}

TEST(NodeEffects, NeedACellOnTwoNodes) {
  const Cells cells{{{"a", 100}, {"a", 101}}, {{"b", 100}, {"b", 101}}};
  EXPECT_TRUE(find_node_effects(cells).nodes.empty());
  EXPECT_FALSE(find_node_effects(cells).differ);
}

}  // namespace
}  // namespace trainyard::record
