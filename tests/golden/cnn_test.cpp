#include <gtest/gtest.h>

#include <fmt/core.h>

#include "graph/autodiff.h"
#include "graph/graph.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks {
namespace {

struct Row {
  const char *image, *filters, *blocks, *block;
  int classes;
  std::int64_t parameters;
  const char *forward_gmac, *training_gflop;
};

class CnnTest : public testing::TestWithParam<Row> {};

// The figures were derived from the formulas of ParaDnn's generator, and checked against the data it shipped.
TEST_P(CnnTest, MatchesParaDnn) {
  const Row& row = GetParam();
  constexpr std::int64_t kBatch = 2;
  Model model = build_model(
      {.network = "cnn",
       .batch = kBatch,
       .classes = row.classes,
       .parameters = {
           {"image", row.image}, {"filters", row.filters}, {"blocks", row.blocks}, {"block", row.block}}});
  const auto flops = [&] { return static_cast<double>(graph::total_cost(model.graph).flops); };
  EXPECT_EQ(graph::parameter_count(model.graph), row.parameters);
  EXPECT_EQ(fmt::format("{:.4f}", flops() / 2e9 / kBatch), row.forward_gmac);
  add_training_step(model, {});
  EXPECT_EQ(fmt::format("{:.4f}", flops() / 1e9 / kBatch), row.training_gflop);
  graph::verify(model.graph);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CnnTest,
    testing::Values(Row{"224", "64", "3,4,6,3", "bottleneck", 1000, 25'557'032, "4.0892", "24.2991"},
                    Row{"224", "64", "2,2,2,2", "residual", 1000, 11'693'736, "1.8269", "10.7255"},
                    Row{"200", "16", "1", "bottleneck", 1000, 1'019'384, "0.0962", "0.5300"},
                    Row{"250", "32", "4", "bottleneck", 1000, 10'564'488, "1.3636", "8.0347"},
                    Row{"300", "64", "8", "bottleneck", 1500, 98'681'116, "14.2746", "85.2240"},
                    Row{"300", "64", "8", "residual", 1500, 61'094'556, "13.8592", "82.7316"}),
    [](const auto& row) { return fmt::format("Row{}", row.index + 1); });

TEST(Cnn, AdaptivePoolTakesSmallImages) {
  const Model model =
      build_model({.network = "cnn", .batch = 2, .parameters = {{"image", "33"}, {"pool", "adaptive"}}});
  // The same body, whose last group has 8 * 4 * 16 channels, and one pixel is left of each.
  EXPECT_EQ(graph::parameter_count(model.graph), 1'019'384);
}

std::string complaint(const generator::Given& parameters) {
  try {
    build_model({.network = "cnn", .parameters = parameters});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Cnn, RefusesWhatItCannotBe) {
  EXPECT_EQ(complaint({{"image", "192"}}),
            "image 192: network 'cnn' with pool fixed takes at least 193; any with pool adaptive");
  EXPECT_EQ(complaint({{"image", "31"}, {"pool", "adaptive"}}),
            "image 31: network 'cnn' takes a whole number from 32 to 65536");
  EXPECT_EQ(complaint({{"block", "residul"}}),
            "block residul (did you mean 'residual'?): network 'cnn' takes residual or bottleneck");
  for (const char* blocks : {"1,2", "0", "1,2,3,0", "1,2,3,4,5", "", ",", "1,2,3,", "two", "1.5", "9e9"})
    EXPECT_EQ(
        complaint({{"blocks", blocks}}),
        fmt::format("blocks {}: network 'cnn' takes one whole number or 4 with commas, each from 1 to 512",
                    blocks));
  EXPECT_EQ(complaint({{"width", "5"}}),
            "width 5: network 'cnn' has no such parameter, but block, blocks, filters, image, pool");
}

}  // namespace
}  // namespace trainyard::networks
