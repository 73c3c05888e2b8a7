#include "graph/autodiff.h"

#include <random>

#include <gtest/gtest.h>

#include "graph/test_ops.h"

namespace trainyard::graph {
namespace {

ValueId sum_of(Graph& graph, const std::vector<ValueId>& parts) { return graph.add(sum_op, "total", parts); }

struct Made {
  Graph graph;
  ValueId x, w;
  Made() : x(graph.add_input("x", kToyType)), w(graph.add_parameter("w", kToyType, {})) {}

  // Returns the gradients of `wanted`, given one input that stands for the gradient of `output`.
  std::vector<ValueId> gradients(ValueId output, const std::vector<ValueId>& wanted) {
    d_output = graph.add_input("d_output", kToyType);
    std::vector<ValueId> made = differentiate(graph, {output}, {d_output}, wanted, sum_of);
    verify(graph);
    return made;
  }
  ValueId d_output = kNone;
};

// Returns the number of times that the value contains `source`; twice counts two. All toy ops are linear.
double factor_of(const Graph& graph, ValueId value, ValueId source) {
  if (value == source) return 1;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNone) return 0;
  double sum = 0;
  for (const ValueId input : graph.node(producer).inputs) sum += factor_of(graph, input, source);
  return graph.node(producer).op == &twice_op ? 2 * sum : sum;
}

TEST(Autodiff, SumsTheGradientsOfAValueThatIsReadTwice) {
  Made m;
  const ValueId y = m.graph.add(sum_op, "y", {m.graph.add(twice_op, "a", {m.w}), m.w});
  const ValueId d_w = m.gradients(y, {m.w})[0];
  ASSERT_NE(d_w, kNone);
  EXPECT_EQ(factor_of(m.graph, d_w, m.d_output), 3);
  EXPECT_EQ(m.graph.value(d_w).gradient_of, m.w);
}

TEST(Autodiff, SumsTheGradientsOfBothPlacesInOneNode) {
  Made m;
  const ValueId y = m.graph.add(sum_op, "y", {m.w, m.w});
  const ValueId d_w = m.gradients(y, {m.w})[0];
  EXPECT_EQ(factor_of(m.graph, d_w, m.d_output), 2);
}

TEST(Autodiff, ComputesNothingThatNoWantedValueNeeds) {
  Made m;
  const ValueId a = m.graph.add(twice_op, "only_of_x", {m.x});
  const ValueId y = m.graph.add(sum_op, "y", {m.graph.add(twice_op, "deeper", {a}), m.w});
  const std::size_t before = m.graph.nodes().size();
  EXPECT_EQ(m.gradients(y, {m.w})[0], m.d_output);
  EXPECT_EQ(m.graph.nodes().size(), before) << to_text(m.graph);
}

TEST(Autodiff, GivesNoGradientWhereTheOutputDoesNotDependOnTheValue) {
  Made m;
  const ValueId y = m.graph.add(twice_op, "y", {m.x});
  m.graph.add(twice_op, "beside", {m.w});
  EXPECT_EQ(m.gradients(y, {m.w})[0], kNone);
}

TEST(Autodiff, StopsAtAnOpWithoutAGradient) {
  Made m;
  const ValueId y = m.graph.add(stop_op, "y", {m.graph.add(twice_op, "a", {m.w})});
  EXPECT_EQ(m.gradients(y, {m.w})[0], kNone);
}

TEST(Autodiff, PassesThroughANodeOfWhichOneOutputMatters) {
  Made m;
  const std::vector<ValueId> parts = m.graph.add_node(fork_op, "parts", {m.w});
  const ValueId y = m.graph.add(twice_op, "y", {parts[1]});
  const ValueId d_w = m.gradients(y, {m.w})[0];
  EXPECT_EQ(factor_of(m.graph, d_w, m.d_output), 2);
}

TEST(Autodiff, GivesTheGradientOfAValueInsideTheNetwork) {
  Made m;
  const ValueId hidden = m.graph.add(twice_op, "hidden", {m.x});
  const ValueId y = m.graph.add(twice_op, "y", {hidden});
  const ValueId d_hidden = m.gradients(y, {hidden})[0];
  ASSERT_NE(d_hidden, kNone);
  EXPECT_EQ(factor_of(m.graph, d_hidden, m.d_output), 2);
}

TEST(Autodiff, LeavesNodesOfOtherPhasesAlone) {
  Made m;
  m.graph.set_phase(Phase::prepare);
  const ValueId copy = m.graph.add(twice_op, "copy", {m.w});
  m.graph.set_phase(Phase::forward);
  const ValueId y = m.graph.add(twice_op, "y", {copy});
  const std::vector<ValueId> made = m.gradients(y, {m.w, copy});
  EXPECT_EQ(made[0], kNone);
  EXPECT_EQ(factor_of(m.graph, made[1], m.d_output), 2);
}

TEST(Autodiff, AddsTheGradientsOfSeveralOutputs) {
  Made m;
  const ValueId y = m.graph.add(twice_op, "y", {m.w}), z = m.graph.add(twice_op, "z", {y});
  const ValueId d_y = m.graph.add_input("d_y", kToyType), d_z = m.graph.add_input("d_z", kToyType);
  const ValueId d_w = differentiate(m.graph, {y, z}, {d_y, d_z}, {m.w}, sum_of)[0];
  EXPECT_EQ(factor_of(m.graph, d_w, d_y), 2);
  EXPECT_EQ(factor_of(m.graph, d_w, d_z), 4);
}

TEST(Autodiff, NewNodesAreBackwardAndThoseThatFollowForward) {
  Made m;
  const ValueId y = m.graph.add(twice_op, "y", {m.w});
  m.gradients(y, {m.w});
  ASSERT_EQ(m.graph.nodes().size(), 2u);
  EXPECT_EQ(m.graph.node(1).phase, Phase::backward);
  m.graph.add(twice_op, "later", {y});
  EXPECT_EQ(m.graph.node(2).phase, Phase::forward);
}

// In a linear graph the gradient of each value is its share of the output.
TEST(Autodiff, AgreesWithTheSharesOfRandomLinearGraphs) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Made m;
    std::vector<ValueId> values{m.x, m.w};
    const auto any = [&] { return values[random() % values.size()]; };
    for (int n = 0; n < 8; ++n) {
      const std::string name = "n" + std::to_string(n);
      if (random() % 2 == 0)
        values.push_back(m.graph.add(twice_op, name, {any()}));
      else
        values.push_back(m.graph.add(sum_op, name, {any(), any()}));
    }
    const ValueId y = values.back();
    std::vector<ValueId> wanted(values.begin(), values.end() - 1);
    std::map<ValueId, double> share;
    for (const ValueId value : wanted) share[value] = factor_of(m.graph, y, value);
    const std::vector<ValueId> made = m.gradients(y, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double factor = made[i] == kNone ? 0 : factor_of(m.graph, made[i], m.d_output);
      ASSERT_EQ(factor, share[wanted[i]])
          << "seed " << seed << ", value '" << m.graph.value(wanted[i]).name << "' of\n"
          << to_text(m.graph);
    }
  }
}

TEST(Costs, AreSummedOverAPhaseOrAllNodes) {
  Made m;
  m.gradients(m.graph.add(twice_op, "y", {m.w}), {m.w});
  const Cost forward = total_cost(m.graph, Phase::forward), all = total_cost(m.graph);
  EXPECT_EQ(forward.elementwise_flops, 6);
  EXPECT_EQ(forward.bytes_moved, 2 * 6 * 4);
  EXPECT_EQ(all.elementwise_flops, 12);
  EXPECT_EQ(all.bytes_moved, 2 * forward.bytes_moved);
  EXPECT_EQ(total_cost(m.graph, Phase::update).bytes_moved, 0);
}

TEST(Costs, SavedBytesCountEachValueOnceAndOnlyWhatAForwardNodeMade) {
  Made m;
  const ValueId a = m.graph.add(twice_op, "a", {m.x});
  m.graph.add(twice_op, "unread", {a});
  m.graph.set_phase(Phase::backward);
  const ValueId d = m.graph.add(sum_op, "d", {a, m.w});
  EXPECT_EQ(total_bytes_saved(m.graph), kToyType.bytes());
  m.graph.add(sum_op, "again", {a, d, m.x});
  EXPECT_EQ(total_bytes_saved(m.graph), kToyType.bytes());
}

TEST(Costs, ParametersAreCountedByTheirElements) {
  Made m;
  m.graph.add_parameter("bias", {{5}, DType::f32}, {});
  m.graph.add_state("mean", {{100}, DType::f32}, Role::statistic, {});
  EXPECT_EQ(parameter_count(m.graph), 6 + 5);
}

}  // namespace
}  // namespace trainyard::graph
