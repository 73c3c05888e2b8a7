#include "plan/recompute.h"

#include <gtest/gtest.h>

#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/registry/registry.h"
#include "ops/update.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::Node;
using graph::Phase;
using graph::ValueId;

const graph::TensorType kMatrix{{8, 16}, DType::f32};

// A product of two values reads both in its gradient.
struct Chain {
  Graph graph;
  std::vector<ValueId> values;

  // Layers value * dropout(relu(value)).
  explicit Chain(int layers) {
    ValueId x = graph.add_parameter("x", kMatrix, Initializer::normal(1));
    for (int i = 0; i < layers; ++i) {
      const std::string name = "n" + std::to_string(i);
      const ValueId masked = ops::dropout(graph, name + "/drop", ops::relu(graph, name + "/relu", x), 0.5);
      values.push_back(masked);
      x = ops::multiply(graph, name, x, masked);
      values.push_back(x);
    }
    graph.mark_output(x);
    graph.set_phase(Phase::backward);
    const ValueId d_x = graph.add_input("d_x", kMatrix);
    for (const ValueId gradient : ops::backward(graph, {x}, {d_x}, graph.values_with(graph::Role::parameter)))
      graph.mark_output(gradient);
  }
};

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> all;
  for (const Node& node : graph.nodes()) all.push_back(node.name);
  return all;
}

const Node* node_named(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes())
    if (node.name == name) return &node;
  return nullptr;
}

std::ptrdiff_t place(const Graph& graph, const std::string& name) {
  return node_named(graph, name) - graph.nodes().data();
}

TEST(Recompute, MakesAValueAgainDirectlyBeforeItsFirstReader) {
  const Chain chain(3);
  const ValueId dropped = chain.values[2];  // n1/drop
  const Recomputed changed = recompute(chain.graph, {dropped});
  graph::verify(changed.graph);
  ASSERT_EQ(changed.again.size(), 1u);
  const std::vector<std::string> before = names(chain.graph), after = names(changed.graph);
  ASSERT_EQ(after.size(), before.size() + 1);
  const Node* again = node_named(changed.graph, "n1/drop/again");
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(changed.again.contains(again->outputs.front()));
  EXPECT_EQ(again->phase, Phase::backward);
  EXPECT_EQ(again->inputs, node_named(changed.graph, "n1/drop")->inputs);
  EXPECT_EQ(again->attrs<ops::DropoutAttrs>().stream,
            node_named(chain.graph, "n1/drop")->attrs<ops::DropoutAttrs>().stream);
  const Node& next = changed.graph.nodes()[static_cast<std::size_t>(place(changed.graph, again->name)) + 1];
  EXPECT_TRUE(std::count(next.inputs.begin(), next.inputs.end(), again->outputs.front()) > 0) << next.name;
  for (const Node& node : changed.graph.nodes()) {
    if (node.phase != Phase::backward) continue;
    EXPECT_EQ(std::count(node.inputs.begin(), node.inputs.end(), dropped), 0) << node.name;
  }
}

TEST(Recompute, FollowsWhatWasDroppedBackToWhatWasKept) {
  const Chain chain(3);
  const Dropped all(chain.values.begin(), chain.values.end() - 1);
  const Recomputed changed = recompute(chain.graph, all);
  graph::verify(changed.graph);
  EXPECT_EQ(changed.again.size(), all.size()) << "each once";
  EXPECT_LT(place(changed.graph, "n0/again"), place(changed.graph, "n1/again"));
  EXPECT_EQ(node_named(changed.graph, "n1/again")->inputs[0],
            node_named(changed.graph, "n0/again")->outputs[0]);
}

TEST(Recompute, LeavesAloneWhatNobodyReadsAgain) {
  const Chain chain(2);
  const Recomputed changed = recompute(chain.graph, {});
  EXPECT_EQ(names(changed.graph), names(chain.graph));
  EXPECT_TRUE(changed.again.empty());
}

struct Normed {
  Graph graph;
  std::vector<ValueId> made;  // by the norm

  Normed() {
    const graph::TensorType channels{{3}, DType::f32}, image{{2, 3, 4, 4}, DType::f32};
    const ValueId src = graph.add_parameter("src", image, Initializer::normal(1));
    const ValueId gamma = graph.add_parameter("gamma", channels, Initializer::constant(1));
    const ValueId beta = graph.add_parameter("beta", channels, Initializer::constant(0));
    const ValueId mean = graph.add_state("mean", channels, graph::Role::statistic, {});
    const ValueId variance = graph.add_state("variance", channels, graph::Role::statistic, {});
    made = graph.add_node(ops::batch_norm_op, "norm", {src, gamma, beta, mean, variance},
                          ops::BatchNormAttrs{.activation = {ops::Activation::relu}});
    const ValueId square = ops::multiply(graph, "square", made[0], made[0]);
    graph.mark_output(square);
    graph.set_phase(Phase::backward);
    const ValueId d_square = graph.add_input("d_square", image);
    for (const ValueId gradient :
         ops::backward(graph, {square}, {d_square}, graph.values_with(graph::Role::parameter)))
      graph.mark_output(gradient);
  }
};

TEST(Recompute, ABatchNormIsAppliedAgainAndItsStatisticsChangeOnce) {
  const Normed normed;
  const Recomputed changed = recompute(normed.graph, {normed.made[0]});
  graph::verify(changed.graph);
  const Node* again = node_named(changed.graph, "norm/again");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->op, &ops::batch_norm_apply_op);
  EXPECT_EQ(again->attrs<ops::BatchNormApplyAttrs>().activation.kind, ops::Activation::relu);
  EXPECT_EQ(again->inputs[3], normed.made[1]);
  EXPECT_EQ(again->inputs[4], normed.made[2]);
  EXPECT_TRUE(graph::mutated_inputs({changed.graph, *again}).empty());
}

TEST(Recompute, NothingIsMadeOfAParameterThatHasChanged) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", kMatrix, Initializer::normal(1));
  const ValueId y = ops::relu(graph, "y", w);
  graph.set_phase(Phase::backward);
  const ValueId d = graph.add_input("d", kMatrix);
  graph.set_phase(Phase::update);
  ops::update(graph, "update", {w}, {d}, {});
  graph.set_phase(Phase::backward);
  graph.mark_output(ops::multiply(graph, "late", y, d));
  const Recomputed changed = recompute(graph, {y});
  EXPECT_TRUE(changed.again.empty());
  EXPECT_EQ(node_named(changed.graph, "late")->inputs[0], y);
}

CompiledStep planned(const Graph& graph) {
  return compile(graph, *backend::make_backend("null"), {.fuse = false});
}

std::size_t most_living(const CompiledStep& step) {
  std::size_t most = 0;
  for (std::size_t s = 0; s < step.plan.steps.size(); ++s) {
    std::size_t living = 0;
    for (const Buffer& buffer : step.plan.buffers)
      if (buffer.region == Region::slab && buffer.first_step <= static_cast<int>(s) &&
          static_cast<int>(s) <= buffer.last_step)
        living += buffer.bytes;
    most = std::max(most, living);
  }
  return most;
}

// Kernels of the null backend do nothing in place, so what lives is the sum of the buffers.
TEST(StepSketch, ForetellsThePlanOfAnyChoice) {
  const Chain chain(6);
  const CompiledStep whole = planned(chain.graph);
  const StepSketch sketch(whole);
  for (unsigned choice = 0; choice < 1u << 10; choice += 37) {
    StepSketch::Flags flags(sketch.size(), 0);
    for (std::size_t s = 0, bit = 0; s < sketch.size(); ++s)
      if (sketch.can_drop(s)) flags[s] = (choice >> (bit++ % 10)) & 1u;
    const StepSketch::Outlook outlook = sketch.look(flags);
    const Recomputed changed = recompute(chain.graph, sketch.nodes(flags));
    const CompiledStep step = planned(changed.graph);
    EXPECT_EQ(outlook.most_living, most_living(step)) << choice;
    EXPECT_EQ(static_cast<std::size_t>(std::count(outlook.runs_again.begin(), outlook.runs_again.end(), 1)),
              changed.again.size())
        << choice;
  }
}

TEST(StepSketch, WhatOutlivesTheStepIsNotDropped) {
  const Chain chain(2);
  const CompiledStep whole = planned(chain.graph);
  const StepSketch sketch(whole);
  for (std::size_t s = 0; s < sketch.size(); ++s)
    if (whole.plan.steps[s].name == "n1") {
      EXPECT_FALSE(sketch.can_drop(s)) << "it makes an output";
    }
}

TEST(ChooseDropped, FitsAtTheLeastCostAndSaysWhenNothingDoes) {
  const Chain chain(24);
  const CompiledStep whole = planned(chain.graph);
  const StepSketch sketch(whole);
  const std::size_t most = most_living(whole);
  double last_cost = 0;
  for (const double share : {0.9, 0.7, 0.5, 0.35}) {
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(most));
    const std::optional<Dropped> dropped = choose_dropped(sketch, limit);
    ASSERT_TRUE(dropped) << share;
    const CompiledStep step = planned(recompute(chain.graph, *dropped).graph);
    EXPECT_LE(most_living(step), limit) << share;
    const auto cost = static_cast<double>(step.plan.work().bytes_moved - whole.plan.work().bytes_moved);
    EXPECT_GE(cost, last_cost) << "less memory costs more, at " << share;
    last_cost = cost;
  }
  // One dropout a layer is enough for a little, and the cheapest.
  EXPECT_FALSE(choose_dropped(sketch, static_cast<std::size_t>(kMatrix.bytes())));
  const CompiledStep least = planned(recompute(chain.graph, choose_smallest(sketch)).graph);
  EXPECT_LT(most_living(least), most / 2);
}

}  // namespace
}  // namespace trainyard::plan
