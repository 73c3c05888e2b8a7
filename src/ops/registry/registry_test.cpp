#include "ops/registry/registry.h"

#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "graph/graph.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"

namespace trainyard::ops {
namespace {

using graph::Graph;
using graph::Initializer;
using graph::kNone;
using graph::Role;
using graph::ValueId;

std::int64_t count(const Graph& graph, const graph::OpDef& op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const graph::Node& node) { return node.op == &op; });
}

ValueId cross_entropy(Graph& graph, ValueId logits) {
  const ValueId labels = graph.add_input("labels", {{graph.shape(logits)[0]}, DType::i32});
  return softmax_cross_entropy(graph, "loss", logits, labels).loss;
}

TEST(Gradients, NoneForTheNetworkInput) {
  Graph graph;
  ValueId x = graph.add_input("image", {{2, 3, 8, 8}, DType::f32});
  for (int layer = 0; layer < 2; ++layer) {
    const ValueId weight =
        graph.add_parameter("weight", {{4, layer == 0 ? 3 : 4, 3, 3}, DType::f32}, Initializer::normal(1));
    x = relu(graph, "relu", conv2d(graph, "conv", x, weight, kNone, {square_window(3, 1, 1)}));
  }
  const ValueId weight = graph.add_parameter("weight", {{10, 4, 8, 8}, DType::f32}, Initializer::normal(1));
  const ValueId loss = cross_entropy(graph, dense(graph, "fc", x, weight, kNone));
  gradients_of(graph, loss, graph.values_with(Role::parameter));
  EXPECT_EQ(count(graph, conv2d_d_weight_op), 2);
  EXPECT_EQ(count(graph, conv2d_d_src_op), 1) << "only the second convolution passes a gradient on";
  EXPECT_EQ(count(graph, dense_d_src_op), 1);
  graph::verify(graph);
}

TEST(Gradients, NoneForFrozenWeights) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{2, 6}, DType::f32});
  const ValueId frozen = graph.add_parameter("frozen", {{5, 6}, DType::f32}, Initializer::normal(1));
  const ValueId trained = graph.add_parameter("trained", {{4, 5}, DType::f32}, Initializer::normal(1));
  const ValueId loss =
      cross_entropy(graph, dense(graph, "b", dense(graph, "a", x, frozen, kNone), trained, kNone));
  gradients_of(graph, loss, {trained});
  EXPECT_EQ(count(graph, dense_d_weight_op), 1);
  EXPECT_EQ(count(graph, dense_d_src_op), 0);
}

// Batch B, P weights of which N * I in the first layer: forward and weight gradients cost 2BP each, input
// gradients the same but for the first layer.
TEST(Gradients, ExecutedFlopsOfTwoDenseLayers) {
  constexpr std::int64_t B = 8, I = 20, N = 30, K = 10, P = N * I + K * N;
  Graph graph;
  const ValueId x = graph.add_input("x", {{B, I}, DType::f32});
  const ValueId w1 = graph.add_parameter("w1", {{N, I}, DType::f32}, Initializer::normal(1));
  const ValueId w2 = graph.add_parameter("w2", {{K, N}, DType::f32}, Initializer::normal(1));
  const ValueId hidden = relu(graph, "relu", dense(graph, "fc1", x, w1, kNone));
  const ValueId loss = cross_entropy(graph, dense(graph, "fc2", hidden, w2, kNone));
  gradients_of(graph, loss, {w1, w2});
  EXPECT_EQ(graph::parameter_count(graph), P);
  EXPECT_EQ(graph::total_cost(graph).flops, 6 * B * P - 2 * B * N * I);
  EXPECT_EQ(graph::total_cost(graph, graph::Phase::forward).flops, 2 * B * P);
  EXPECT_EQ(graph::total_cost(graph, graph::Phase::backward).flops, 4 * B * P - 2 * B * N * I);
}

TEST(Gradients, AValueUsedTwiceGetsASum) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{4}, DType::f32});
  const ValueId d_y = graph.add_input("d_y", {{4}, DType::f32});
  const ValueId y = add(graph, "y", {x, activation(graph, "t", x, {Activation::tanh})});
  const ValueId d_x = backward(graph, {y}, {d_y}, {x})[0];
  EXPECT_EQ(graph.node(graph.value(d_x).producer).op, &add_op);
  EXPECT_EQ(graph.node(graph.value(d_x).producer).phase, graph::Phase::backward);
  graph::verify(graph);
}

TEST(Gradients, ParameterWithoutInfluenceIsAnError) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{2, 6}, DType::f32});
  const ValueId used = graph.add_parameter("used", {{4, 6}, DType::f32}, Initializer::normal(1));
  const ValueId idle = graph.add_parameter("idle", {{4, 6}, DType::f32}, Initializer::normal(1));
  const ValueId loss = cross_entropy(graph, dense(graph, "fc", x, used, kNone));
  try {
    gradients_of(graph, loss, {used, idle});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_STREQ(error.what(), "the loss does not depend on parameter 'idle'");
  }
}

}  // namespace
}  // namespace trainyard::ops
