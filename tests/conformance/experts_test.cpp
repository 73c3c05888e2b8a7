#include "ops/sequence/experts.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "hand_example.h"
#include "ops/dense.h"
#include "ops/sequence/grouped_dense.h"
#include "problems.h"
#include "run_graph.h"

// Tests a layer of experts by what it is: rows go to the experts that their scores name, and come back as
// weighted sums.
namespace trainyard::conformance {
namespace {

using graph::ValueId;
using Numbers = HandExample::Numbers;

TEST(Experts, ChoicesAreSortedByExpertThenByRow) {
  HandExample e;
  const ValueId scores = e.input("scores", {4, 3}, {0, 2, 1, 5, 1, 4, 3, 1, 2, 0, 1, 2});
  const ops::Routed routed = ops::route(e.graph, "route", scores, {2});
  e.run();
  expect_near(e[routed.chosen], {1, 2, 0, 2, 0, 2, 2, 1});
  expect_near(e[routed.offsets], {0, 2, 4, 8});
  expect_near(e[routed.place], {2, 4, 0, 5, 1, 6, 7, 3});
  const double high = 1 / (1 + std::exp(-1.0)), low = 1 - high;
  expect_near(e[routed.gates], {high, low, high, low, high, low, high, low});
}

TEST(Experts, OfEqualScoresTheFirstExpertIsTaken) {
  HandExample e;
  const ValueId scores = e.input("scores", {2, 4}, {1, 1, 1, 1, 0, 3, 0, 3});
  const ops::Routed routed = ops::route(e.graph, "route", scores, {3});
  e.run();
  expect_near(e[routed.chosen], {0, 1, 2, 1, 3, 0});
  expect_near(e[routed.offsets], {0, 2, 4, 5, 6});
}

TEST(Experts, ARowIsTheWeightedSumOfWhatItsExpertsMake) {
  HandExample e;
  // Expert 0 doubles, expert 1 negates and adds 10, expert 2 would make a zero.
  const ValueId scores = e.input("scores", {2, 3}, {std::log(3.0), 0, -50, -50, 2, -80});
  const ValueId x = e.input("x", {2, 1}, {4, 5});
  const ops::Routed routed = ops::route(e.graph, "route", scores, {2});
  const ValueId made = ops::grouped_dense(e.graph, "made", ops::dispatch(e.graph, "to", x, routed.place),
                                          e.parameter("w", {3, 1, 1}, {2, -1, 0}), routed.offsets,
                                          e.parameter("b", {3}, {0, 10, 0}));
  const ValueId y = ops::combine(e.graph, "y", made, routed);
  e.run();
  expect_near(e[y], {0.75 * 8 + 0.25 * 6, 5}, 1e-9);
}

// An expert's share of the choices is not what the loss changes, but the probability that goes with it is.
TEST(Experts, ThePenaltyIsLeastWhereExpertsAreUsedAlike) {
  HandExample e;
  const ValueId even = e.input("even", {4, 2}, {3, 0, 3, 0, 0, 3, 0, 3}),
                uneven = e.input("uneven", {4, 2}, {40, 0, 40, 0, 40, 0, 40, 0});
  const auto penalty = [&](const char* name, ValueId scores) {
    return ops::balance_penalty(e.graph, name, {{scores, ops::route(e.graph, "route", scores, {1}).offsets}},
                                0.5);
  };
  const ValueId least = penalty("least", even), most = penalty("most", uneven);
  e.run();
  expect_near(e[least], {0.5});
  expect_near(e[most], {0.5 * 2}, 1e-9);
}

// A layer of experts on rows of 24 numbers, with its gradients.
struct Layer {
  graph::Graph graph;
  ValueId x, scores, y, dense;
  ops::Routed routed{};

  Layer(std::int64_t rows, std::int64_t experts, std::int64_t choices) {
    constexpr std::int64_t kInputs = 24, kOutputs = 40;
    x = graph.add_input("x", {{rows, kInputs}, DType::f32}, graph::Initializer::normal(1));
    scores = graph.add_input("scores", {{rows, experts}, DType::f32}, graph::Initializer::normal(1));
    routed = ops::route(graph, "route", scores, {choices});
    const ValueId weight = graph.add_parameter("weight", {{experts, kOutputs, kInputs}, DType::f32},
                                               graph::Initializer::normal(0.3)),
                  one = graph.add_parameter("one", {{kOutputs, kInputs}, DType::f32},
                                            graph::Initializer::normal(0.3));
    y = ops::combine(graph, "y",
                     ops::grouped_dense(graph, "made", ops::dispatch(graph, "to", x, routed.place), weight,
                                        routed.offsets, graph::kNone),
                     routed);
    dense = ops::dense(graph, "dense", x, one, graph::kNone);
    graph.mark_output(y);
    graph.mark_output(dense);
    append_backward(graph);
  }
};

const HostTensor& at(const Values& values, ValueId value) { return values[static_cast<std::size_t>(value)]; }

TEST(Experts, AlikeTheyDoWhatADenseLayerDoes) {
  const Layer layer(70, 5, 3);
  Values start = first_values(layer.graph, 4);
  const auto one = at(start, layer.graph.find("one")).as<float>(),
             all = at(start, layer.graph.find("weight")).as<float>();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = one[i % one.size()];
  const Values values = run_graph(layer.graph, fast_backend(), start).values;
  const auto y = at(values, layer.y).as<float>(), dense = at(values, layer.dense).as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], dense[i], 1e-5f) << i;
}

TEST(Experts, ThreadsChangeNoBit) {
  const Layer layer(333, 6, 2);
  const Values start = first_values(layer.graph, 1);
  const int before = thread_count();
  set_thread_count(1);
  const Values one = run_graph(layer.graph, fast_backend(), start).values;
  set_thread_count(3);
  const Values three = run_graph(layer.graph, fast_backend(), start).values;
  set_thread_count(before);
  for (std::size_t v = 0; v < one.size(); ++v) {
    if (layer.graph.values()[v].name.starts_with("dense")) continue;  // a product of the library
    EXPECT_EQ(std::memcmp(one[v].data(), three[v].data(), one[v].bytes()), 0) << layer.graph.values()[v].name;
  }
}

TEST(Experts, ScoresThatAreNoNumbersStillHaveAPlaceEach) {
  const Layer layer(9, 4, 2);
  Values start = first_values(layer.graph, 2);
  for (float& score : at(start, layer.scores).as<float>().subspan(8, 9))
    score = std::numeric_limits<float>::quiet_NaN();
  const Values values = run_graph(layer.graph, fast_backend(), start).values;
  const auto place = at(values, layer.routed.place).as<std::int32_t>();
  std::vector<std::int32_t> sorted(place.begin(), place.end()), each(place.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(each.begin(), each.end(), 0);
  EXPECT_EQ(sorted, each);
  EXPECT_TRUE(std::isnan(at(values, layer.y).as<float>()[2 * 40]));
  EXPECT_FALSE(std::isnan(at(values, layer.y).as<float>()[0]));
}

}  // namespace
}  // namespace trainyard::conformance
