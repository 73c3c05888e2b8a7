#include <gtest/gtest.h>

#include <fmt/core.h>

#include "graph/analysis.h"
#include "graph/verifier.h"
#include "networks/residual_cnn.h"
#include "ops/gradients.h"
#include "ops/softmax_cross_entropy.h"

namespace trainyard::networks {
namespace {

struct Row {
  std::int64_t side;
  int classes;
  ResidualCnn cnn;
  std::int64_t parameters;
  const char *forward_gmac, *training_gflop;
};

class ResidualCnnTest : public testing::TestWithParam<Row> {};

// Derived from the formulas of ParaDnn's generator, and checked against the data it shipped.
TEST_P(ResidualCnnTest, MatchesParaDnn) {
  const Row& row = GetParam();
  constexpr std::int64_t kBatch = 2;
  graph::Graph graph;
  const graph::ValueId images = graph.add_input("images", {{kBatch, 3, row.side, row.side}});
  const graph::ValueId labels = graph.add_input("labels", {{kBatch}, DType::i32});
  Builder builder(graph, true);
  const graph::ValueId logits = residual_cnn(builder, images, row.classes, row.cnn);
  EXPECT_EQ(graph::parameter_count(graph), row.parameters);
  EXPECT_EQ(fmt::format("{:.4f}", static_cast<double>(graph::total_cost(graph).flops) / 2e9 / kBatch),
            row.forward_gmac);
  const graph::ValueId loss = ops::softmax_cross_entropy(graph, "loss", logits, labels).loss;
  ops::gradients_of(graph, loss, graph.values_with(graph::Role::parameter));
  EXPECT_EQ(fmt::format("{:.4f}", static_cast<double>(graph::total_cost(graph).flops) / 1e9 / kBatch),
            row.training_gflop);
  graph::verify(graph);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ResidualCnnTest,
    testing::Values(Row{224, 1000, {true, {3, 4, 6, 3}, 64}, 25'557'032, "4.0892", "24.2991"},
                    Row{224, 1000, {false, {2, 2, 2, 2}, 64}, 11'693'736, "1.8269", "10.7255"},
                    Row{200, 1000, {true, {1, 1, 1, 1}, 16}, 1'019'384, "0.0962", "0.5300"},
                    Row{250, 1000, {true, {4, 4, 4, 4}, 32}, 10'564'488, "1.3636", "8.0347"},
                    Row{300, 1500, {true, {8, 8, 8, 8}, 64}, 98'681'116, "14.2746", "85.2240"},
                    Row{300, 1500, {false, {8, 8, 8, 8}, 64}, 61'094'556, "13.8592", "82.7316"}),
    [](const auto& row) { return fmt::format("Row{}", row.index + 1); });

TEST(ResidualCnn, SmallImagesDoNotReachTheLastPool) {
  graph::Graph graph;
  Builder builder(graph, true);
  const graph::ValueId images = graph.add_input("images", {{1, 3, 192, 192}});
  try {
    residual_cnn(builder, images, 10, {});
    FAIL() << "accepted 192 pixels";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(),
                 "average_pool 'last_pool': window 7x7 is larger than its padded input 1x512x6x6");
  }
}

}  // namespace
}  // namespace trainyard::networks
