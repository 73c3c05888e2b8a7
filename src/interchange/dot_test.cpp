#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/dot.h"
#include "interchange/graph_def.h"
#include "interchange/interchange_graph.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

void expect_equal(const ExchangeGraph& a, const ExchangeGraph& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  EXPECT_EQ(totals_of(a), totals_of(b));
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
    EXPECT_EQ(a.nodes[i].type, b.nodes[i].type);
    EXPECT_EQ(a.nodes[i].device, b.nodes[i].device);
    EXPECT_EQ(a.nodes[i].inputs, b.nodes[i].inputs);
    EXPECT_EQ(a.nodes[i].outputs, b.nodes[i].outputs);
    EXPECT_EQ(a.nodes[i].flops, b.nodes[i].flops);
  }
}

TEST(Dot, GraphsComeBackAsTheyWere) {
  for (const char* network : {"googlenet", "rnn"}) {
    networks::Model model = networks::build_model({.network = network, .batch = 2});
    networks::add_training_step(model, {});
    const ExchangeGraph graph = from_graph(model.graph, network);
    expect_equal(read_dot(to_dot(graph), "test"), graph);
  }
  ExchangeGraph graph = read_graph_def(small_graph_def(), "test");
  graph.name = "with \"quotes\" and \\";
  expect_equal(read_dot(to_dot(graph), "test"), graph);
}

TEST(Dot, ReadsWhatOthersWrite) {
  const ExchangeGraph graph = read_dot(R"(/* by hand */ strict digraph {
    rankdir = LR; node [shape=box]
    subgraph cluster_a { a [label="Conv\nx"]; b }
    a:out -> b -> "c d" [style=dashed] // a chain
  })",
                                       "test");
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].type, "Conv");
  EXPECT_EQ(graph.nodes[1].type, "op");
  EXPECT_EQ(graph.nodes[2].inputs, (std::vector<OpInput>{{1, 0, true}}));
}

TEST(Dot, MistakesAreOneLine) {
  const auto read = [](const std::string& text) { return [text] { read_dot(text, "'g.dot'"); }; };
  expect_error(ErrorKind::config, "no digraph", read("graph { a -- b }"));
  expect_error(ErrorKind::config, "it ends inside the graph", read("digraph { a -> b"));
  expect_error(ErrorKind::config, "leads nowhere", read("digraph { a -> }"));
  expect_error(ErrorKind::config, "does not end", read("digraph { a [label=\"x }"));
  expect_error(ErrorKind::config, "do not end", read("digraph { a [label=x"));
}

}  // namespace
}  // namespace trainyard::interchange
