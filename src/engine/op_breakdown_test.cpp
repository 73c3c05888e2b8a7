#include "engine/op_breakdown.h"

#include <gtest/gtest.h>

namespace trainyard::engine {
namespace {

using graph::Category;
using graph::Phase;

plan::Step step(const char* op, Category category, graph::Cost cost, Phase phase = Phase::forward) {
  return {.name = op, .op = op, .phase = phase, .category = category, .cost = cost};
}

TEST(OpBreakdown, EveryKernelOfAStepOnceInBothLists) {
  plan::StepPlan plan;
  plan.steps = {step("cast", Category::copy, {0, 0, 7}, Phase::prepare),  // not of every step
                step("dense", Category::gemm, {100, 1, 10}),
                step("activation", Category::elementwise, {0, 5, 20}),
                step("dense", Category::gemm, {200, 2, 30}),
                step("dense_d_weight", Category::gemm, {300, 0, 40}, Phase::backward),
                step("reorder", Category::copy, {0, 0, 50}, Phase::backward)};
  const OpBreakdown found = break_down(plan, std::vector<double>{64, 1, 2, 4, 8, 16});
  EXPECT_EQ(found.seconds, 31);
  ASSERT_EQ(found.by_category.size(), 3u);
  EXPECT_EQ(found.by_category[0].name, "copy");
  EXPECT_EQ(found.by_category[0].count, 1);
  EXPECT_EQ(found.by_category[1].name, "gemm");
  EXPECT_EQ(found.by_category[1].seconds, 13);
  EXPECT_EQ(found.by_category[1].cost.flops, 600);
  EXPECT_EQ(found.by_category[1].cost.elementwise_flops, 3);
  EXPECT_EQ(found.by_category[1].cost.bytes_moved, 80);
  EXPECT_EQ(found.by_category[1].count, 3);
  ASSERT_EQ(found.by_op.size(), 4u);
  EXPECT_EQ(found.by_op[2].name, "dense");
  EXPECT_EQ(found.by_op[2].category, Category::gemm);
  EXPECT_EQ(found.by_op[2].seconds, 5);
  EXPECT_EQ(found.by_op[2].count, 2);
}

}  // namespace
}  // namespace trainyard::engine
