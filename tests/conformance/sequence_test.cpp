#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "hand_example.h"
#include "ops/loss.h"
#include "ops/registry/registry.h"
#include "ops/sequence/recurrent.h"
#include "problems.h"

// Tests ops on sequences against values computed by hand: the recurrent numbers were worked out step by step
// from the formulas in recurrent.h.
namespace trainyard::conformance {
namespace {

using graph::ValueId;
using ops::RecurrentCell;
using Numbers = HandExample::Numbers;

// One sequence of two numbers, one unit.
std::vector<ValueId> run_cell(HandExample& e, RecurrentCell cell, Numbers weight, Numbers recurrent,
                              Numbers bias) {
  const std::int64_t gates = ops::gates_of(cell);
  const std::vector<ValueId> made = e.graph.add_node(
      ops::recurrent_op, "y",
      {e.input("x", {2, 1, 1}, {1, -2}), e.parameter("w", {gates, 1}, std::move(weight)),
       e.parameter("u", {gates, 1}, std::move(recurrent)), e.parameter("b", {gates}, std::move(bias))},
      ops::RecurrentAttrs{cell});
  e.run();
  return made;
}

TEST(Sequences, PlainCell) {
  HandExample e;
  const auto made = run_cell(e, RecurrentCell::rnn, {0.5}, {0.3}, {-0.1});
  ASSERT_EQ(made.size(), 1u);
  expect_near(e[made[0]], {0.3799489622552249, -0.7556581097114713});
}

TEST(Sequences, LongShortTermMemory) {
  HandExample e;
  const auto made =
      run_cell(e, RecurrentCell::lstm, {0.5, -0.3, 0.8, 0.2}, {0.1, 0.4, -0.6, 0.7}, {0.05, 0.1, -0.1, 0.2});
  expect_near(e[made[0]], {0.2188368296704452, -0.0027926889765337265});
  // i, f, g, o of both steps
  expect_near(e[made[1]], {0.6341355910108007, 0.45016600268752216, 0.6043677771171636, 0.598687660112452,
                           0.2833070291594051, 0.6873017447513672, -0.9499533030532104, 0.4882985821550605});
  expect_near(e[made[2]], {0.38325111753007646, -0.005719286371836219});
}

TEST(Sequences, GatedUnitResetsBehindTheProduct) {
  HandExample e;
  const auto made = run_cell(e, RecurrentCell::gru, {0.5, -0.3, 0.8}, {0.1, 0.4, -0.6}, {0.05, 0.1, -0.1});
  expect_near(e[made[0]], {0.3323019507391867, -0.05389580312065265});
  // r, z, n of both steps
  expect_near(e[made[1]], {0.6341355910108007, 0.45016600268752216, 0.6043677771171636, 0.2856165257414515,
                           0.696972159032851, -0.9421609917655146});
  expect_near(e[made[2]], {0, -0.19938117044351203});
}

TEST(Sequences, EmbeddingTakesRowsAndAddsTheirGradients) {
  HandExample e;
  const ValueId table = e.parameter("table", {3, 2}, {1, 2, 3, 4, 5, 6});
  const ValueId ids = e.integers("ids", {2, 2}, {2, 0, 2, 3});
  const ValueId y = ops::embedding(e.graph, "y", table, ids);
  const ValueId d_y = e.input("d_y", {2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  const ValueId d_table = ops::backward(e.graph, {y}, {d_y}, {table}).front();
  e.run();
  const Numbers rows = e[y];
  expect_near({rows.begin(), rows.begin() + 6}, {5, 6, 1, 2, 5, 6});
  EXPECT_TRUE(std::isnan(rows[6]) && std::isnan(rows[7]));  // there is no row 3
  expect_near(e[d_table], {2, 20, 0, 0, 4, 40});
}

TEST(Sequences, MaskedLossIsTheMeanOverStepsThatCount) {
  HandExample e;
  // Sequence 0 has two steps, sequence 1 one: its second, and what it is labelled with, does not matter.
  const ValueId logits = e.input("logits", {2, 2, 2}, {0, 1, 2, 0, 1, 1, 5, -5});
  const ValueId labels = e.integers("labels", {2, 2}, {1, 0, 0, 77});
  const ValueId lengths = e.integers("lengths", {2}, {2, 1});
  const ValueId loss = ops::sequence_cross_entropy(e.graph, "loss", logits, labels, lengths);
  const ValueId one = e.input("d_loss", {}, {3});
  const ValueId d_logits = ops::backward(e.graph, {loss}, {one}, {logits}).front();
  e.run();
  const double first = std::log(1 + std::exp(-1)), second = std::log(1 + std::exp(-2)), third = std::log(2);
  expect_near(e[loss], {(first + second + third) / 3});
  const double p = 1 / (1 + std::exp(1)), q = 1 / (1 + std::exp(2));
  expect_near(e[d_logits], {p, -p, -q, q, -0.5, 0.5, 0, 0});
}

TEST(Sequences, StepsWithoutALabelDoNotCount) {
  HandExample e;
  const ValueId logits = e.input("logits", {2, 2, 2}, {0, 1, 2, 0, 1, 1, 5, -5});
  const ValueId labels = e.integers("labels", {2, 2}, {1, ops::kNoLabel, ops::kNoLabel, 0});
  const ValueId lengths = e.integers("lengths", {2}, {2, 2});
  const ValueId loss = ops::sequence_cross_entropy(e.graph, "loss", logits, labels, lengths);
  const ValueId one = e.input("d_loss", {}, {3});
  const ValueId d_logits = ops::backward(e.graph, {loss}, {one}, {logits}).front();
  e.run();
  expect_near(e[loss], {(std::log(1 + std::exp(-1)) + std::log(1 + std::exp(-10))) / 2});
  const double p = 1.5 / (1 + std::exp(1)), q = 1.5 / (1 + std::exp(10));
  expect_near(e[d_logits], {p, -p, 0, 0, 0, 0, -q, q});
}

TEST(Sequences, LossOfNoStepsIsZero) {
  HandExample e;
  const ValueId logits = e.input("logits", {1, 1, 2}, {3, 4});
  const ValueId labels = e.integers("labels", {1, 1}, {0}), lengths = e.integers("lengths", {1}, {0});
  const ValueId loss = ops::sequence_cross_entropy(e.graph, "loss", logits, labels, lengths);
  e.run();
  expect_near(e[loss], {0});
}

TEST(Sequences, LossOfAnUnknownLabelIsNotANumber) {
  HandExample e;
  const ValueId logits = e.input("logits", {1, 1, 2}, {3, 4});
  const ValueId labels = e.integers("labels", {1, 1}, {2}), lengths = e.integers("lengths", {1}, {1});
  const ValueId loss = ops::sequence_cross_entropy(e.graph, "loss", logits, labels, lengths);
  e.run();
  EXPECT_TRUE(std::isnan(e[loss][0]));
}

// These graphs are large enough that several threads share the work.
void add_embedding(graph::Graph& graph) {
  const ValueId table = graph.add_parameter("table", {{50, 128}, DType::f32}, graph::Initializer::normal(1));
  const ValueId ids = graph.add_input("ids", {{64, 32}, DType::i32}, graph::Initializer::integers(0, 50));
  graph.mark_output(ops::embedding(graph, "rows", table, ids));
}

void add_loss(graph::Graph& graph) {
  const ValueId logits =
      graph.add_input("logits", {{40, 16, 600}, DType::f32}, graph::Initializer::normal(2));
  const ValueId labels =
      graph.add_input("labels", {{40, 16}, DType::i32}, graph::Initializer::integers(0, 600));
  const ValueId lengths = graph.add_input("lengths", {{16}, DType::i32}, graph::Initializer::integers(1, 41));
  graph.mark_output(ops::sequence_cross_entropy(graph, "loss", logits, labels, lengths));
}

TEST(Sequences, ThreadsChangeNoBit) {
  const auto backend = backend::make_onednn_backend();
  if (backend == nullptr) GTEST_SKIP() << "built without oneDNN";
  const int before = thread_count();
  for (const auto add : {add_embedding, add_loss}) {
    graph::Graph graph;
    add(graph);
    append_backward(graph);
    const Values start = first_values(graph, 1);
    set_thread_count(1);
    const Values one = run_graph(graph, *backend, start).values;
    set_thread_count(3);
    const Values three = run_graph(graph, *backend, start).values;
    for (std::size_t v = 0; v < one.size(); ++v)
      EXPECT_EQ(std::memcmp(one[v].data(), three[v].data(), one[v].bytes()), 0) << graph.values()[v].name;
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace trainyard::conformance
