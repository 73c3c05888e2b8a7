#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/test_ops.h"

namespace trainyard::graph {
namespace {

std::string error_of(const std::function<void()>& act, ErrorKind kind) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "no error";
}

TEST(Graph, RepeatedNamesGetNumbersThatNoOtherNameHas) {
  Graph graph;
  const ValueId x = graph.add_input("x", kToyType);
  graph.add_input("x_1", kToyType);
  graph.add_input("x", kToyType);
  graph.add_input("x", kToyType);
  for (int i = 0; i < 3; ++i) graph.add(twice_op, "y", {x});
  graph.add(twice_op, "y_1", {x});
  std::set<std::string> values, nodes;
  for (const Value& value : graph.values()) values.insert(value.name);
  for (const Node& node : graph.nodes()) nodes.insert(node.name);
  EXPECT_EQ(values.size(), graph.values().size());
  EXPECT_EQ(nodes.size(), graph.nodes().size());
  EXPECT_EQ(graph.value(x).name, "x") << "the first keeps its name";
}

TEST(Graph, ValuesKnowTheirProducerAndNodesTheirOutputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", kToyType);
  const std::vector<ValueId> parts = graph.add_node(fork_op, "parts", {x});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(graph.value(x).producer, kNone);
  for (int i = 0; i < 2; ++i) {
    const Value& part = graph.value(parts[static_cast<std::size_t>(i)]);
    EXPECT_EQ(part.producer, 0);
    EXPECT_EQ(part.output_index, i);
    EXPECT_EQ(part.role, Role::intermediate);
    EXPECT_EQ(graph.find("parts:" + std::to_string(i)), parts[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(graph.find("parts"), kNone);
}

TEST(Graph, ListsValuesByTheirRoleInTheOrderOfTheirCreation) {
  Graph graph;
  const ValueId x = graph.add_input("x", kToyType);
  const ValueId a = graph.add_parameter("a", kToyType, {});
  graph.add_state("mean", kToyType, Role::statistic, {});
  graph.add(sum_op, "y", {x, a});
  const ValueId b = graph.add_parameter("b", kToyType, {});
  EXPECT_EQ(graph.values_with(Role::parameter), (std::vector<ValueId>{a, b}));
  EXPECT_EQ(graph.values_with(Role::input), std::vector<ValueId>{x});
  EXPECT_EQ(graph.values_with(Role::intermediate).size(), 1u);
}

TEST(Graph, RefusesEmptyDimensionsAndNamesWhatHasThem) {
  Graph graph;
  EXPECT_EQ(error_of(
                [&] {
                  graph.add_parameter("w", {{4, 0}, DType::f32}, {});
                },
                ErrorKind::shape),
            "parameter 'w': shape 4x0 has a dimension below 1");
}

TEST(Graph, ARefusedNodeLeavesNoValueBehind) {
  Graph graph;
  const ValueId x = graph.add_input("x", kToyType), y = graph.add_input("y", {{3, 2}, DType::f32});
  EXPECT_EQ(error_of(
                [&] {
                  graph.add(sum_op, "both", {x, y});
                },
                ErrorKind::shape),
            "sum 'both': input 1 is f32 3x2, wants f32 2x3");
  EXPECT_EQ(error_of(
                [&] {
                  graph.add(twice_op, "two", {x, x});
                },
                ErrorKind::shape),
            "twice 'two': got 2 inputs, wants 1");
  EXPECT_EQ(graph.nodes().size(), 0u);
  EXPECT_EQ(graph.values().size(), 2u);
  verify(graph);
}

TEST(Graph, TextHasALineForEachNode) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", kToyType, {});
  graph.add(twice_op, "y", {w});
  graph.add_node(change_op, "update", {w});
  EXPECT_EQ(to_text(graph), "y = twice(w) -> f32 2x3\nupdate = change(w) {w anew} -> \n");
}

TEST(Graph, NodesBelongToThePhaseInWhichTheyAreAdded) {
  Graph graph;
  const ValueId x = graph.add_input("x", kToyType);
  graph.add(twice_op, "forward", {x});
  graph.set_phase(Phase::update);
  graph.add(twice_op, "update", {x});
  EXPECT_EQ(graph.node(0).phase, Phase::forward);
  EXPECT_EQ(graph.node(1).phase, Phase::update);
}

// x -> a -> b, a parameter w that b reads and the update changes. Each test breaks one rule.
class BrokenGraph : public testing::Test {
 protected:
  BrokenGraph() {
    x_ = graph_.add_input("x", kToyType);
    w_ = graph_.add_parameter("w", kToyType, {});
    a_ = graph_.add(twice_op, "a", {x_});
    b_ = graph_.add(sum_op, "b", {a_, w_});
    graph_.mark_output(b_);
    graph_.set_phase(Phase::update);
    graph_.add_node(change_op, "change", {w_});
    verify(graph_);
  }

  std::string broken_by(const std::function<void(std::vector<Node>&)>& change) {
    std::vector<Node> nodes = graph_.nodes();
    change(nodes);
    graph_.replace_nodes(std::move(nodes));
    return error_of([&] { verify(graph_); }, ErrorKind::internal);
  }

  Graph graph_;
  ValueId x_, w_, a_, b_;
};

TEST_F(BrokenGraph, AReaderBeforeTheProducer) {
  EXPECT_EQ(broken_by([](auto& nodes) { std::swap(nodes[0], nodes[1]); }),
            "graph: sum 'b' reads before it is made 'a:0'");
}

TEST_F(BrokenGraph, AReaderBehindAChange) {
  EXPECT_EQ(broken_by([](auto& nodes) { std::swap(nodes[1], nodes[2]); }),
            "graph: sum 'b' reads after another node changed 'w'");
}

TEST_F(BrokenGraph, TwoProducers) {
  EXPECT_EQ(broken_by([](auto& nodes) { nodes[1].outputs = nodes[0].outputs; }),
            "graph: twice 'a' is not noted as producer of 'a:0'");
}

TEST_F(BrokenGraph, AnOutputThatNoNodeMakes) {
  EXPECT_EQ(broken_by([](auto& nodes) { nodes.erase(nodes.begin() + 1); }),
            "graph: output 'b:0' is never made");
}

TEST_F(BrokenGraph, TooFewOutputs) {
  EXPECT_EQ(broken_by([](auto& nodes) { nodes[1].outputs.clear(); }),
            "graph: sum 'b' has a wrong number of outputs 'b'");
}

TEST_F(BrokenGraph, AnotherTypeThanTheOpInfers) {
  const ValueId other = graph_.add_input("other", {{7}, DType::f32});
  EXPECT_EQ(broken_by([&](auto& nodes) { nodes[0].inputs = {other}; }),
            "graph: twice 'a' would infer another type than that of 'a:0'");
}

TEST_F(BrokenGraph, AChangeOfAnInput) {
  EXPECT_EQ(broken_by([&](auto& nodes) { nodes[2].inputs = {x_}; }), "graph: change 'change' changes 'x'");
}

TEST_F(BrokenGraph, AChangeOfAnIntermediate) {
  EXPECT_EQ(broken_by([&](auto& nodes) { nodes[2].inputs = {a_}; }), "graph: change 'change' changes 'a:0'");
}

// The update keeps the rounded copies of weights current, which the phase `prepare` makes.
TEST_F(BrokenGraph, ButAChangeOfWhatIsPreparedIsAllowed) {
  EXPECT_EQ(broken_by([&](auto& nodes) {
              nodes[0].phase = Phase::prepare;
              nodes[2].inputs = {a_};
            }),
            "no error");
}

TEST(Initializer, ListedNumbersAreSharedByCopies) {
  const Initializer one = Initializer::listed({1, 2, 3}), copy = one;
  EXPECT_EQ(copy.numbers.get(), one.numbers.get());
  EXPECT_EQ(*copy.numbers, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace trainyard::graph
