// Exported graphs compute what ours do: an evaluation of ONNX's operators in numpy, written after their
// specification alone, agrees with the reference backend.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "backend/backend.h"
#include "base/test_folder.h"
#include "conformance/run_graph.h"
#include "interchange/onnx_export.h"
#include "networks/zoo/zoo.h"
#include "ops/broadcast.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

using graph::Initializer;
using graph::ValueId;

constexpr int kAbsent = 77;

class OnnxValues : public testing::Test {
 protected:
  ValueId parameter(const char* name, const Shape& shape) {
    return graph_.add_parameter(name, {shape, DType::f32}, Initializer::normal(1));
  }
  ValueId statistic(const char* name, const Shape& shape) {
    return graph_.add_state(name, {shape, DType::f32}, graph::Role::statistic,
                            Initializer::uniform(0.2, 1.5));
  }
  ValueId input(const Shape& shape) {
    return graph_.add_input("x", {shape, DType::f32}, Initializer::normal(1));
  }

  void write(const char* name, const HostTensor& tensor) const {
    std::ofstream(folder_.path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
  }

  // `sample` is the name of the input.
  void expect_equal(ValueId output, const char* sample = "x") {
    graph_.mark_output(output);
    const auto reference = backend::make_backend("reference");
    conformance::Values start = conformance::first_values(graph_, 3);
    for (const ValueId parameter : graph_.values_with(graph::Role::parameter))
      vary(start[static_cast<std::size_t>(parameter)]);
    const conformance::RunResult result = conformance::run_graph(graph_, *reference, start);
    const WeightSource weights = [&](const graph::Value& value) {
      const HostTensor& tensor = start[static_cast<std::size_t>(graph_.find(value.name))];
      return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes());
    };
    export_onnx(graph_, output, {.name = "values", .weights = weights}, folder_.path() / "graph.onnx");
    write("input", start[static_cast<std::size_t>(graph_.find(sample))]);
    write("output", result.values[static_cast<std::size_t>(output)]);
    const std::string command = "tests/scripts/onnx_values.py " + folder_.path().string();
    const int status = std::system(command.c_str());
    if (WEXITSTATUS(status) == kAbsent) GTEST_SKIP() << "Python's onnx is absent (Debian: python3-onnx)";
    EXPECT_EQ(status, 0);
  }

  // Neither small, nor ones and zeros: what is left out or taken twice is seen.
  static void vary(HostTensor& tensor) {
    const auto numbers = tensor.as<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] += 0.2f * std::sin(1.7f * static_cast<float>(i % 1009));
  }

  void expect_equal_network(const char* network, const networks::generator::Given& parameters,
                            const char* sample) {
    networks::Model model =
        networks::build_model({.network = network, .batch = 3, .parameters = parameters, .training = false});
    graph_ = std::move(model.graph);
    expect_equal(model.logits, sample);
  }

  TestFolder folder_;
  graph::Graph graph_;
};

TEST_F(OnnxValues, OfImages) {
  ValueId x = input({2, 4, 9, 8});
  const ops::Window2d uneven{.kernel_h = 3,
                             .kernel_w = 2,
                             .stride_h = 2,
                             .stride_w = 1,
                             .dilation_h = 1,
                             .dilation_w = 2,
                             .pad_top = 1,
                             .pad_left = 0,
                             .pad_bottom = 2,
                             .pad_right = 1};
  x = ops::conv2d(graph_, "conv", x, parameter("w", {6, 2, 3, 2}), parameter("b", {6}),
                  {.window = uneven, .groups = 2});
  const ops::BatchNormInputs norm{x, parameter("gamma", {6}), parameter("beta", {6}), statistic("mean", {6}),
                                  statistic("variance", {6})};
  x = ops::batch_norm(graph_, "norm", norm, {.epsilon = 1e-3, .training = false});
  x = ops::local_response_norm(graph_, "lrn", x, {.window = 3, .k = 1.5, .alpha = 0.3, .beta = 0.6});
  const ops::Window2d over_the_edge = ops::square_window(3, 2, 1);
  x = ops::concat(graph_, "join",
                  {ops::max_pool(graph_, "most", x, over_the_edge),
                   ops::average_pool(graph_, "mean_inside", x, {over_the_edge, false}),
                   ops::average_pool(graph_, "mean_of_all", x, {over_the_edge, true})});
  x = ops::activation(graph_, "leaky", x, {ops::Activation::leaky_relu});
  x = ops::pad(graph_, "pad", x, {0, 1, 0, 2}, {0, 0, 1, 0});
  x = ops::slice(graph_, "slice", x, {0, 0, 1, 0}, {2, 19, 3, 4});
  x = ops::dense(graph_, "dense", x, parameter("v", {5, 19, 3, 4}), parameter("c", {5}));
  expect_equal(ops::softmax(graph_, "softmax", ops::scale(graph_, "scale", x, 0.1)));
}

TEST_F(OnnxValues, OfAnExportedGpt) {
  expect_equal_network(
      "transformer",
      {{"layers", "2"}, {"width", "24"}, {"heads", "3"}, {"length", "7"}, {"vocabulary", "31"}}, "tokens");
}

TEST_F(OnnxValues, OfAnExportedLlama) {
  expect_equal_network("tiny_llama",
                       {{"layers", "2"},
                        {"width", "32"},
                        {"heads", "4"},
                        {"kv_heads", "2"},
                        {"ffn", "20"},
                        {"length", "6"},
                        {"vocabulary", "19"}},
                       "tokens");
}

TEST_F(OnnxValues, OfAnExportedEncoder) {
  expect_equal_network("transformer",
                       {{"layers", "1"},
                        {"width", "16"},
                        {"heads", "2"},
                        {"length", "5"},
                        {"vocabulary", "17"},
                        {"causal", "no"},
                        {"positions", "sinusoidal"},
                        {"activation", "gelu"}},
                       "tokens");
}

TEST_F(OnnxValues, OfAnExportedTransformerWithSharedKeysAndSilu) {
  expect_equal_network("transformer",
                       {{"layers", "1"},
                        {"width", "16"},
                        {"heads", "4"},
                        {"kv_heads", "1"},
                        {"length", "5"},
                        {"vocabulary", "17"},
                        {"norm", "rms"},
                        {"positions", "rotary"},
                        {"activation", "silu"}},
                       "tokens");
}

TEST_F(OnnxValues, OfAnExportedVisionTransformer) {
  expect_equal_network(
      "vit", {{"layers", "2"}, {"width", "12"}, {"heads", "3"}, {"image", "8"}, {"patch", "4"}}, "images");
}

// Products of batches of matrices, permuted.
TEST_F(OnnxValues, OfMatrices) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId squares = ops::matmul(graph_, "squares", x, x, {false, true});
  const ValueId product = ops::matmul(graph_, "product", squares, x, {true, false});
  expect_equal(ops::permute(graph_, "order", product, {3, 0, 2, 1}));
}

TEST_F(OnnxValues, OfOperandsThatAreRepeated) {
  ValueId x = input({2, 3, 4, 5});
  const ValueId sums = ops::sum(graph_, "sums", x, {1, 3, 1, 1});
  x = ops::multiply(graph_, "product", x, ops::repeat(graph_, "repeated", sums, {2, 3, 4, 5}));
  expect_equal(ops::sum(graph_, "same", x, {2, 3, 4, 5}));
}

TEST_F(OnnxValues, OfLargerImages) {
  ValueId x = input({2, 4, 3, 5});
  const ops::Window2d uneven{.kernel_h = 3,
                             .kernel_w = 2,
                             .stride_h = 2,
                             .stride_w = 3,
                             .pad_top = 1,
                             .pad_left = 0,
                             .pad_bottom = 0,
                             .pad_right = 1};
  x = ops::conv2d_transposed(graph_, "larger", x, parameter("w", {4, 3, 3, 2}), {uneven, 2}, 7, 14);
  x = ops::upsample(graph_, "doubled", x);
  x = ops::resize(graph_, "smaller", x, {ops::ResizePlaces::half_pixel, {2, 6, 7, 9}});
  x = ops::resize(graph_, "corners", x, {ops::ResizePlaces::align_corners, {2, 6, 8, 12}});
  expect_equal(ops::resize(graph_, "asymmetric", x, {ops::ResizePlaces::asymmetric, {2, 6, 12, 18}}));
}

// A bias that is computed, and one of a GRU with a block more.
TEST_F(OnnxValues, OfTwoBiases) {
  const ValueId bias = ops::add(graph_, "sum", {parameter("b", {16}), parameter("c", {16})});
  const ValueId x = ops::recurrent(graph_, "lstm",
                                   {input({5, 2, 3}), parameter("w", {16, 3}), parameter("u", {16, 4}), bias},
                                   {ops::RecurrentCell::lstm, false});
  const ValueId y = ops::recurrent(
      graph_, "gru", {x, parameter("v", {12, 4}), parameter("t", {12, 4}), parameter("d", {16})},
      {ops::RecurrentCell::gru, false});
  expect_equal(ops::reshape(graph_, "flat", y, {10, 4}));
}

const ops::PointwiseKind kFunctions[] = {
    ops::PointwiseKind::linear,    ops::PointwiseKind::clip,         ops::PointwiseKind::elu,
    ops::PointwiseKind::celu,      ops::PointwiseKind::hard_sigmoid, ops::PointwiseKind::hard_swish,
    ops::PointwiseKind::softplus,  ops::PointwiseKind::softsign,     ops::PointwiseKind::mish,
    ops::PointwiseKind::threshold, ops::PointwiseKind::exp,          ops::PointwiseKind::log,
    ops::PointwiseKind::sqrt,      ops::PointwiseKind::reciprocal,   ops::PointwiseKind::power,
    ops::PointwiseKind::absolute,  ops::PointwiseKind::erf,          ops::PointwiseKind::sin,
    ops::PointwiseKind::cos};

class OnnxFunctionValues : public OnnxValues, public testing::WithParamInterface<ops::PointwiseKind> {};

TEST_P(OnnxFunctionValues, OfNumbers) {
  const ValueId x = graph_.add_input("x", {{3, 7}, DType::f32}, Initializer::uniform(0.1, 3));
  const ValueId moved = ops::pointwise(graph_, "moved", x, {ops::PointwiseKind::linear, 1.25, -0.1});
  expect_equal(ops::pointwise(graph_, "y", moved, {GetParam(), 0.7, 1.2}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, OnnxFunctionValues, testing::ValuesIn(kFunctions),
                         [](const testing::TestParamInfo<ops::PointwiseKind>& kind) {
                           return ops::name(kind.param);
                         });

class OnnxCellValues : public OnnxValues, public testing::WithParamInterface<ops::RecurrentCell> {};

TEST_P(OnnxCellValues, OfSequences) {
  const std::int64_t rows = ops::gates_of(GetParam()) * 4;
  const ops::RecurrentInputs inputs{input({5, 2, 3}), parameter("w", {rows, 3}), parameter("u", {rows, 4}),
                                    parameter("b", {rows})};
  const ValueId y = ops::recurrent(graph_, "cell", inputs, {GetParam(), false});
  expect_equal(ops::reshape(graph_, "flat", y, {10, 4}));
}

INSTANTIATE_TEST_SUITE_P(Cells, OnnxCellValues,
                         testing::Values(ops::RecurrentCell::rnn, ops::RecurrentCell::lstm,
                                         ops::RecurrentCell::gru),
                         [](const testing::TestParamInfo<ops::RecurrentCell>& cell) {
                           return ops::name(cell.param);
                         });

}  // namespace
}  // namespace trainyard::interchange
