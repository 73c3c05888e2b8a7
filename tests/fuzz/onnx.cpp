#include "fuzz/targets.h"
#include "graph/graph.h"
#include "interchange/dot.h"
#include "interchange/onnx_import.h"
#include "interchange/onnx_model.h"
#include "interchange/test_models.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/sequence/recurrent.h"

namespace trainyard::fuzz {
namespace {

std::string file_of(const graph::Graph& graph, graph::ValueId output) {
  std::string file;
  interchange::export_onnx(graph, output, {.name = "seed"}, [&](std::string_view bytes) { file += bytes; });
  return file;
}

std::string convolution_seed() {
  graph::Graph graph;
  const auto parameter = [&](const char* name, const Shape& shape) {
    return graph.add_parameter(name, {shape, DType::f32}, {});
  };
  const auto statistic = [&](const char* name) {
    return graph.add_state(name, {{4}, DType::f32}, graph::Role::statistic, {});
  };
  graph::ValueId x = graph.add_input("x", {{2, 3, 8, 8}, DType::f32});
  x = ops::conv2d(graph, "conv", x, parameter("w", {4, 3, 3, 3}), parameter("b", {4}),
                  {.window = ops::square_window(3, 1, 1)});
  x = ops::batch_norm(graph, "norm",
                      {x, parameter("g", {4}), parameter("s", {4}), statistic("m"), statistic("v")}, {});
  x = ops::max_pool(graph, "pool", ops::relu(graph, "relu", x), ops::square_window(2, 2));
  return file_of(graph, ops::dropout(graph, "drop", x, 0.5));
}

std::string recurrent_seed() {
  graph::Graph graph;
  const auto parameter = [&](const char* name, const Shape& shape) {
    return graph.add_parameter(name, {shape, DType::f32}, {});
  };
  const graph::ValueId x = graph.add_input("x", {{5, 2, 3}, DType::f32});
  return file_of(
      graph, ops::recurrent(graph, "cell",
                            {x, parameter("w", {16, 3}), parameter("u", {16, 4}), parameter("b", {16})}, {}));
}

std::string transformer_seed() {
  const networks::Model model = networks::build_model({.network = "transformer",
                                                       .batch = 2,
                                                       .parameters = {{"layers", "1"},
                                                                      {"width", "8"},
                                                                      {"heads", "2"},
                                                                      {"length", "4"},
                                                                      {"vocabulary", "7"},
                                                                      {"norm", "rms"},
                                                                      {"activation", "swiglu"},
                                                                      {"positions", "rotary"}}});
  return file_of(model.graph, model.logits);
}

void read_onnx(std::string_view bytes) {
  const interchange::OnnxNetwork network =
      interchange::import_onnx(interchange::onnx::read_model(bytes, "fuzz"), {.batch = 3}, "fuzz");
  interchange::totals_of(network.exchange);
  if (network.obstacles.empty()) graph::verify(network.graph);
  interchange::training_form(network);
}

}  // namespace

std::vector<std::string> onnx_seeds() {
  return {convolution_seed(), recurrent_seed(), transformer_seed(),
          interchange::onnx_file_of(interchange::small_onnx_model("Relu")),
          interchange::onnx_file_of(interchange::small_onnx_model("HardSwish"))};
}

void fuzz_onnx(std::string_view bytes) { expect_error_or_result("onnx", read_onnx, bytes); }

}  // namespace trainyard::fuzz
