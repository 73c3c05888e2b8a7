#include "predict/runs/graph_work.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/graph_def.h"
#include "interchange/test_models.h"

namespace trainyard::predict {
namespace {

NetworkWork work_of_text(const std::string& text, std::int64_t batch = 1) {
  return work_of(interchange::read_graph_def(text, "test", batch), batch, "'test'");
}

TEST(GraphWork, OfATrainingStepIsThatOfItsOps) {
  const NetworkWork work = work_of_text(interchange::small_graph_def(), 2);
  constexpr double kProduct = 2.0 * 2 * 4 * 4 * 16 * 27;
  EXPECT_FALSE(work.forward_only);
  EXPECT_EQ(work.flops, 2 * kProduct);
  EXPECT_EQ(work.forward_flops, kProduct);
  EXPECT_EQ(work.parameters, 27 * 16);
  EXPECT_EQ(work.state_slots, 1);  // of the momentum
  EXPECT_EQ(work.input_bytes, 4 * 2 * 8 * 8 * 3);
  EXPECT_EQ(work.unknown_share, 0);
  ASSERT_EQ(work.kernels.size(), 3u);
  const KernelWork &conv = work.kernels[0], &gradient = work.kernels[2];
  EXPECT_EQ(conv.rows * conv.columns * conv.inner * 2, kProduct);
  EXPECT_EQ(conv.columns, 16);
  EXPECT_EQ(conv.window, 9);
  EXPECT_TRUE(conv.strided);
  EXPECT_TRUE(gradient.of_weight);
  EXPECT_EQ(gradient.rows * gradient.columns, 27 * 16);
  EXPECT_EQ(work.kernels[1].kind, KernelKind::elementwise);
  EXPECT_GT(work.peak_live_bytes, 0);
}

// What nothing waits for is not part of the step.
TEST(GraphWork, OpsThatPrepareARunAreNoPartOfAStep) {
  const std::string more = R"(
node { name: "first" op: "Unheard" input: "kernel" }
node { name: "assign" op: "Assign" input: "kernel" input: "first" })";
  const NetworkWork work = work_of_text(interchange::small_graph_def() + more, 2);
  EXPECT_EQ(work.kernels.size(), 3u);
  EXPECT_EQ(work.unknown_share, 0);
}

// x -> many Relu -> Unheard
std::string forward_graph(int known, const std::string& type) {
  std::string text = R"(node { name: "n0" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape { dim { size: -1 } dim { size: 10 } } } } })";
  for (int i = 0; i < known; ++i)
    text += fmt::format(
        "node {{ name: \"n{}\" op: \"Relu\" input: \"n{}\" attr {{ key: \"T\" value {{ type: "
        "DT_FLOAT }} }} }}\n",
        i + 1, i);
  return text + fmt::format("node {{ name: \"last\" op: \"{}\" input: \"n{}\" }}\n", type, known);
}

TEST(GraphWork, AFewUnknownOpsAreNamedWithTheirShare) {
  const NetworkWork work = work_of_text(forward_graph(19, "Unheard"), 8);
  EXPECT_TRUE(work.forward_only);
  EXPECT_EQ(work.saved_bytes, 0);
  EXPECT_EQ(work.input_bytes, 8 * 10 * 4);
  EXPECT_DOUBLE_EQ(work.unknown_share, 0.05);
  EXPECT_EQ(work.unknown_ops, std::vector<std::string>{"Unheard 1"});
}

TEST(GraphWork, ManyOfThemAndProductsAreRefused) {
  expect_error(ErrorKind::unsupported, "the work of 25.0 % of its ops is not known (Unheard 1)",
               [] { work_of_text(forward_graph(3, "Unheard")); });
  expect_error(ErrorKind::unsupported, "products of matrices",
               [] { work_of_text(forward_graph(19, "Einsum")); });
}

}  // namespace
}  // namespace trainyard::predict
