#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "hand_example.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/registry/registry.h"
#include "ops/shape.h"

// The reference is the specification of every other backend; here its own results against numbers by hand.
namespace trainyard::conformance {
namespace {

using graph::kNone;
using graph::ValueId;
using ops::square_window;
using Numbers = HandExample::Numbers;

Numbers ramp(int count, double first = 0) {
  Numbers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(Semantics, Activations) {
  HandExample e;
  const ValueId x = e.input("x", {4}, {-2, 0, 3, 8});
  const ValueId relu = ops::activation(e.graph, "a", x, {ops::Activation::relu});
  const ValueId relu6 = ops::activation(e.graph, "b", x, {ops::Activation::relu6});
  const ValueId leaky = ops::activation(e.graph, "c", x, {ops::Activation::leaky_relu, 0.2});
  const ValueId sigmoid = ops::activation(e.graph, "d", x, {ops::Activation::sigmoid});
  const ValueId tanh = ops::activation(e.graph, "e", x, {ops::Activation::tanh});
  e.run();
  expect_near(e[relu], {0, 0, 3, 8});
  expect_near(e[relu6], {0, 0, 3, 6});
  expect_near(e[leaky], {-0.4, 0, 3, 8});
  expect_near(e[sigmoid], {0.11920292202, 0.5, 0.95257412682, 0.99966464987}, 1e-10);
  expect_near(e[tanh], {-0.96402758008, 0, 0.99505475369, 0.99999977493}, 1e-10);
}

TEST(Semantics, Elementwise) {
  HandExample e;
  const ValueId a = e.input("a", {3}, {1, -2, 3}), b = e.input("b", {3}, {5, -7, 0.5});
  const ValueId sum = ops::add(e.graph, "sum", {a, b, a});
  const ValueId product = ops::multiply(e.graph, "product", a, b);
  const ValueId scaled = ops::scale(e.graph, "scaled", a, -0.5);
  const ValueId filled = ops::fill(e.graph, "filled", {{2}, DType::f64}, 2.5);
  const ValueId penalty = ops::l2_penalty(e.graph, "penalty", {a, b}, 0.1);
  e.run();
  expect_near(e[sum], {7, -11, 6.5});
  expect_near(e[product], {5, 14, 1.5});
  expect_near(e[scaled], {-0.5, 1, -1.5});
  expect_near(e[filled], {2.5, 2.5});
  expect_near(e[penalty], {0.05 * (14 + 74.25)});
}

TEST(Semantics, MovesOfElements) {
  HandExample e;
  const ValueId a = e.input("a", {2, 2}, {1, 2, 3, 4}), b = e.input("b", {2, 1}, {5, 6});
  const ValueId joined = ops::concat(e.graph, "joined", {a, b}, 1);
  const ValueId rows = ops::concat(e.graph, "rows", {a, a}, 0);
  const ValueId box = ops::slice(e.graph, "box", joined, {0, 1}, {2, 2});
  const ValueId padded = ops::pad(e.graph, "padded", a, {1, 0}, {0, 1});
  const ValueId reshaped = ops::reshape(e.graph, "reshaped", joined, {3, 2});
  e.run();
  expect_near(e[joined], {1, 2, 5, 3, 4, 6});
  expect_near(e[rows], {1, 2, 3, 4, 1, 2, 3, 4});
  expect_near(e[box], {2, 5, 4, 6});
  expect_near(e[padded], {0, 0, 0, 1, 2, 0, 3, 4, 0});
  expect_near(e[reshaped], {1, 2, 5, 3, 4, 6});
}

TEST(Semantics, Dense) {
  HandExample e;
  const ValueId src = e.input("src", {2, 2}, {1, 2, 3, 4});
  const ValueId weight = e.parameter("weight", {3, 2}, {1, 0, 0, 1, 1, -1});
  const ValueId bias = e.parameter("bias", {3}, {10, 20, 30});
  const ValueId y = ops::dense(e.graph, "y", src, weight, bias);
  e.run();
  expect_near(e[y], {11, 22, 29, 13, 24, 29});
}

// A cross-correlation: the kernel is not turned round.
TEST(Semantics, Convolution) {
  HandExample e;
  const ValueId src = e.input("src", {1, 1, 3, 3}, ramp(9, 1));
  const ValueId weight = e.parameter("weight", {1, 1, 2, 2}, {1, 10, 100, 1000});
  const ValueId bias = e.parameter("bias", {1}, {0.5});
  const ValueId valid = ops::conv2d(e.graph, "valid", src, weight, bias, {square_window(2)});
  const ValueId padded = ops::conv2d(e.graph, "padded", src, weight, kNone, {square_window(2, 2, 1)});
  ops::Window2d wide = square_window(2);
  wide.dilation_h = wide.dilation_w = 2;
  const ValueId dilated = ops::conv2d(e.graph, "dilated", src, weight, kNone, {wide});
  e.run();
  expect_near(e[valid], {5421.5, 6532.5, 8754.5, 9865.5});
  expect_near(e[padded], {1000, 3200, 7040, 9865});
  expect_near(e[dilated], {1 + 30 + 700 + 9000});
}

TEST(Semantics, GroupsSeeTheirOwnChannels) {
  HandExample e;
  const ValueId src = e.input("src", {1, 4, 1, 1}, {1, 2, 3, 4});
  const ValueId weight = e.parameter("weight", {2, 2, 1, 1}, {1, 10, 100, 1000});
  const ValueId y = ops::conv2d(e.graph, "y", src, weight, kNone, {.window = square_window(1), .groups = 2});
  e.run();
  expect_near(e[y], {21, 4300});
}

TEST(Semantics, MaxPoolWithSamePadding) {
  const ops::Window2d window = ops::with_same_padding(square_window(3, 2), 4, 4);
  HandExample e;
  const ValueId src = e.input("src", {1, 1, 4, 4}, ramp(16, -16));
  const auto made = e.graph.add_node(ops::max_pool_op, "y", {src}, ops::MaxPoolAttrs{window});
  e.run();
  expect_near(e[made[0]], {-6, -5, -2, -1});  // the zeros of the padding never win
  expect_near(e[made[1]], {8, 7, 5, 4});      // row-major in the window
}

TEST(Semantics, MaxPoolTakesTheFirstOfEquals) {
  HandExample e;
  const ValueId src = e.input("src", {1, 1, 3, 3}, Numbers(9, 2.0));
  const auto made = e.graph.add_node(ops::max_pool_op, "y", {src}, ops::MaxPoolAttrs{square_window(3, 2, 1)});
  const ValueId d_dst = e.input("d_dst", {1, 1, 2, 2}, {1, 2, 3, 4});
  const ValueId d_src = ops::backward(e.graph, {made[0]}, {d_dst}, {src})[0];
  e.run();
  expect_near(e[made[1]], {4, 3, 1, 0});
  expect_near(e[d_src], {1, 2, 0, 3, 4, 0, 0, 0, 0});
}

TEST(Semantics, AveragePoolCountsPaddingOnRequest) {
  HandExample e;
  const ValueId src = e.input("src", {1, 1, 2, 2}, {1, 2, 3, 4});
  const ValueId without = ops::average_pool(e.graph, "without", src, {square_window(3, 1, 1)});
  const ValueId with = ops::average_pool(e.graph, "with", src, {square_window(3, 1, 1), true});
  const ValueId global = ops::global_average_pool(e.graph, "global", src);
  e.run();
  expect_near(e[without], Numbers(4, 2.5));
  expect_near(e[with], Numbers(4, 10.0 / 9));
  expect_near(e[global], {2.5});
}

TEST(Semantics, BatchNormTrains) {
  HandExample e;
  const ValueId src = e.input("src", {2, 1}, {1, 3});
  const ValueId gamma = e.parameter("gamma", {1}, {2}), beta = e.parameter("beta", {1}, {1});
  const ValueId mean = e.statistic("mean", {1}, {10}), variance = e.statistic("variance", {1}, {1});
  const auto made = e.graph.add_node(ops::batch_norm_op, "y", {src, gamma, beta, mean, variance},
                                     ops::BatchNormAttrs{.epsilon = 3});
  e.run();
  expect_near(e[made[0]], {0, 2});  // deviation sqrt(1 + 3)
  expect_near(e[made[1]], {2});     // mean
  expect_near(e[made[2]], {0.5});   // inverse deviation
  expect_near(e[mean], {9.2});      // 0.9 * 10 + 0.1 * 2
  expect_near(e[variance], {1.1});  // 0.9 * 1 + 0.1 * 2, the unbiased variance
}

TEST(Semantics, BatchNormInfers) {
  HandExample e;
  const ValueId src = e.input("src", {2, 1}, {1, 3});
  const ValueId gamma = e.parameter("gamma", {1}, {2}), beta = e.parameter("beta", {1}, {1});
  const ValueId mean = e.statistic("mean", {1}, {2}), variance = e.statistic("variance", {1}, {3});
  const auto made = e.graph.add_node(ops::batch_norm_op, "y", {src, gamma, beta, mean, variance},
                                     ops::BatchNormAttrs{.epsilon = 1, .training = false});
  e.run();
  expect_near(e[made[0]], {0, 2});
  expect_near(e[made[1]], {2});
  expect_near(e[made[2]], {0.5});
  expect_near(e[mean], {2});
  expect_near(e[variance], {3});
}

TEST(Semantics, LocalResponseNorm) {
  HandExample e;
  const ValueId src = e.input("src", {1, 3, 1, 1}, {1, 2, 3});
  const ValueId y =
      ops::local_response_norm(e.graph, "y", src, {.window = 3, .k = 1, .alpha = 0.1, .beta = 0.5});
  e.run();
  // Squares of the neighbours: 1 + 4, 1 + 4 + 9, 4 + 9; alpha is not divided by the window.
  expect_near(e[y], {1 / std::sqrt(1.5), 2 / std::sqrt(2.4), 3 / std::sqrt(2.3)});
}

TEST(Semantics, Softmax) {
  HandExample e;
  const ValueId x = e.input("x", {2, 2}, {std::log(3.0), 0, 1000, 1000});
  const ValueId y = ops::softmax(e.graph, "y", x);
  e.run();
  expect_near(e[y], {0.75, 0.25, 0.5, 0.5});
}

TEST(Semantics, CrossEntropyOfZeroLogits) {
  HandExample e;
  const ValueId logits = e.input("logits", {2, 10}, Numbers(20, 0.0));
  const auto [loss, probabilities] =
      ops::softmax_cross_entropy(e.graph, "loss", logits, e.labels("labels", {3, 9}));
  const ValueId d_logits = ops::gradients_of(e.graph, loss, {logits})[0];
  e.run();
  expect_near(e[loss], {std::log(10.0)});
  expect_near(e[probabilities], Numbers(20, 0.1));
  Numbers want(20, 0.05);
  want[3] = want[19] = -0.45;
  expect_near(e[d_logits], want);
}

TEST(Semantics, CrossEntropySmoothsLabels) {
  HandExample e;
  const ValueId logits = e.input("logits", {1, 2}, {std::log(3.0), 0});
  const ops::SoftmaxCrossEntropyAttrs attrs{.label_smoothing = 0.2};
  const ValueId hard =
      ops::softmax_cross_entropy(e.graph, "hard", logits, e.labels("labels", {0}), attrs).loss;
  const ValueId soft =
      ops::softmax_cross_entropy(e.graph, "soft", logits, e.input("soft_labels", {1, 2}, {1, 0}), attrs).loss;
  e.run();
  const double want = -0.9 * std::log(0.75) - 0.1 * std::log(0.25);
  expect_near(e[hard], {want});
  expect_near(e[soft], {want});
}

TEST(Semantics, LabelOfNoClassMakesTheLossNan) {
  for (const double label : {-1.0, 2.0, 2e9}) {
    HandExample e;
    const ValueId logits = e.input("logits", {2, 2}, {1, 2, 3, 4});
    const auto [loss, probabilities] =
        ops::softmax_cross_entropy(e.graph, "loss", logits, e.labels("labels", {0, label}));
    e.run();
    EXPECT_TRUE(std::isnan(e[loss][0])) << label;
    EXPECT_FALSE(std::isnan(e[probabilities][3]));
  }
}

TEST(Semantics, DropoutKeepsItsShareAndScales) {
  HandExample e;
  const ValueId x = e.input("x", {100, 100}, Numbers(10000, 1.0));
  const ValueId y = ops::dropout(e.graph, "y", x, 0.3);
  const ValueId other = ops::dropout(e.graph, "other", x, 0.3);
  const ValueId d_x = ops::backward(e.graph, {y}, {x}, {x})[0];
  e.run({.seed = 5, .step = 2});
  const Numbers first = e[y];
  double kept = 0;
  for (const double number : first) {
    EXPECT_TRUE(number == 0 || std::abs(number - 1 / 0.7) < 1e-12);
    kept += number != 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept / 10000, 0.7, 0.02);  // more than four standard deviations
  EXPECT_EQ(e[d_x], first) << "the gradient drops the same elements";
  EXPECT_NE(e[other], first) << "every node has a stream of its own";
  e.run({.seed = 5, .step = 3});
  EXPECT_NE(e[y], first);
  e.run({.seed = 5, .step = 2});
  EXPECT_EQ(e[y], first) << "seed and step fix the mask";
}

TEST(Semantics, MaskOfASum) {
  HandExample e;
  const ValueId a = e.input("a", {4}, {1, 2, 3, 4}), mask = e.input("mask", {4}, {1, 0, -1, 2});
  const ValueId y = e.graph.add(ops::add_op, "y", {a, a, mask}, ops::AddAttrs{.mask_by_last = true});
  e.run();
  expect_near(e[y], {2, 0, 0, 8});
}

// A masked gradient is the gradient of the ReLU, then that of the pool or norm.
TEST(Semantics, MaskedGradientsAreTwoStepsInOne) {
  HandExample e;
  const Shape shape{2, 1, 2, 2};
  const ValueId src = e.input("src", shape, {-1, -2, -3, -4, 1, 7, 3, 4});
  const auto pool = e.graph.add_node(ops::max_pool_op, "pool", {src}, ops::MaxPoolAttrs{square_window(2, 2)});
  const ValueId d_pool = e.input("d_pool", {2, 1, 1, 1}, {5, 6});
  const ValueId d_pool_src = e.graph.add(ops::max_pool_d_src_op, "d_pool_src", {d_pool, pool[1], pool[0]},
                                         ops::MaxPoolGradAttrs{square_window(2, 2), shape, true});

  const ValueId gamma = e.parameter("gamma", {1}, {2}), beta = e.parameter("beta", {1}, {1});
  const ValueId mean = e.statistic("mean", {1}, {0}), variance = e.statistic("variance", {1}, {1});
  const auto norm = e.graph.add_node(ops::batch_norm_op, "norm", {src, gamma, beta, mean, variance},
                                     ops::BatchNormAttrs{.activation = {ops::Activation::relu}});
  const ValueId d_norm = e.input("d_norm", shape, ramp(8, 1));
  const ValueId d_relu = ops::activation_grad(e.graph, "d_relu", d_norm, norm[0], {});
  const auto unfused = e.graph.add_node(ops::batch_norm_grad_op, "unfused",
                                        {d_relu, src, gamma, norm[1], norm[2]}, ops::BatchNormGradAttrs{});
  const auto fused =
      e.graph.add_node(ops::batch_norm_grad_op, "fused", {d_norm, src, gamma, norm[1], norm[2], norm[0]},
                       ops::BatchNormGradAttrs{.mask_by_dst = true});
  e.run();
  expect_near(e[d_pool_src], {0, 0, 0, 0, 0, 6, 0, 0});
  for (std::size_t i = 0; i < 3; ++i) expect_near(e[fused[i]], e[unfused[i]]);
}

}  // namespace
}  // namespace trainyard::conformance
