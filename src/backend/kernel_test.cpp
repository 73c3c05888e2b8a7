#include "backend/kernel.h"

#include <gtest/gtest.h>

#include "ops/elementwise.h"
#include "ops/shape.h"

namespace trainyard::backend {
namespace {

using graph::Graph;
using graph::ValueId;
using Pairs = std::vector<std::pair<int, int>>;

const graph::TensorType kImages{{2, 16, 3, 3}, DType::f32};

Pairs pairs_of(const Graph& graph, const Layout& inputs, const Layout& outputs) {
  const graph::NodeView node(graph, graph.nodes().back());
  KernelIo io = plain_io(node);
  for (Layout& layout : io.inputs) layout = inputs;
  for (Layout& layout : io.outputs) layout = outputs;
  return in_place_of_row(node, io);
}

TEST(InPlaceOfRow, NamesTheInputsThatTheRowAllows) {
  Graph graph;
  const ValueId a = graph.add_input("a", kImages), b = graph.add_input("b", kImages);
  ops::relu(graph, "r", a);
  EXPECT_EQ(pairs_of(graph, {}, {}), (Pairs{{0, 0}}));
  ops::add(graph, "s", {a, b, a});
  EXPECT_EQ(pairs_of(graph, {}, {}), (Pairs{{0, 0}, {0, 1}, {0, 2}}));
  ops::concat(graph, "c", {a, b}, 1);
  EXPECT_EQ(pairs_of(graph, {}, {}), Pairs{});
}

TEST(InPlaceOfRow, WantsTheLayoutOfTheOutput) {
  Graph graph;
  ops::relu(graph, "r", graph.add_input("a", kImages));
  const Layout last = Layout::channels_last(4);
  EXPECT_EQ(pairs_of(graph, last, last), (Pairs{{0, 0}}));
  EXPECT_EQ(pairs_of(graph, last, {}), Pairs{});
}

TEST(InPlaceOfRow, AnotherShapeWantsPlainOrder) {
  Graph graph;
  ops::reshape(graph, "r", graph.add_input("a", kImages), {2, 4, 12, 3});
  const Layout last = Layout::channels_last(4);
  EXPECT_EQ(pairs_of(graph, {}, {}), (Pairs{{0, 0}}));
  EXPECT_EQ(pairs_of(graph, last, last), Pairs{});
}

}  // namespace
}  // namespace trainyard::backend
