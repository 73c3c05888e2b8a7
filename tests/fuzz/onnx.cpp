#include "fuzz/targets.h"
#include "graph/graph.h"
#include "interchange/dot.h"
#include "interchange/onnx_import.h"
#include "interchange/onnx_model.h"
#include "interchange/onnx_rules.h"
#include "interchange/test_models.h"
#include "ops/broadcast.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"

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

// Operands that are repeated, sums along axes, functions, resized images and parts of them.
std::string image_seed() {
  graph::Graph graph;
  const auto parameter = [&](const char* name, const Shape& shape) {
    return graph.add_parameter(name, {shape, DType::f32}, {});
  };
  graph::ValueId x = graph.add_input("x", {{2, 4, 6, 6}, DType::f32});
  x = ops::conv2d_transposed(graph, "larger", x, parameter("w", {4, 3, 2, 2}), {ops::square_window(2, 2)}, 12,
                             12);
  const graph::ValueId sums = ops::sum(graph, "sums", x, {2, 3, 1, 1});
  const graph::ValueId gate =
      ops::pointwise(graph, "gate", sums, {ops::PointwiseKind::hard_sigmoid, 0.2, 0.5});
  x = ops::multiply(graph, "gated", x, ops::repeat(graph, "gates", gate, {2, 3, 12, 12}));
  x = ops::slice(graph, "half", ops::upsample(graph, "doubled", x), {0, 0, 0, 4}, {2, 3, 24, 12});
  x = ops::resize(graph, "resized", x, {ops::ResizePlaces::half_pixel, {2, 3, 9, 5}});
  return file_of(graph, ops::pad(graph, "padded", x, {0, 0, 1, 0}, {0, 0, 0, 2}));
}

// A layer in both directions, of which both outputs are read, with steps that a slice takes backwards.
std::string directions_seed() {
  using interchange::float_tensor;
  interchange::onnx::Model model = interchange::small_onnx_model("Relu");
  const auto integers = [](const char* name, std::vector<std::int64_t> values) {
    return interchange::small_tensor(name, "i64", {static_cast<std::int64_t>(values.size())}, values);
  };
  model.inputs = {{"x", "", {true, {5, 2, 3}, "f32"}}};
  model.outputs = {{"y", "", {true, {3, 2, 8}, "f32"}}, {"h", "", {true, {2, 2, 4}, "f32"}}};
  model.initializers = {float_tensor("w", {2, 16, 3}), float_tensor("u", {2, 16, 4}),
                        float_tensor("b", {2, 32}),    integers("begin", {-1}),
                        integers("end", {-100}),       integers("axis", {0}),
                        integers("step", {-2}),        integers("shape", {0, 0, -1})};
  model.nodes = {
      {.name = "cell",
       .type = "LSTM",
       .domain = "",
       .inputs = {"x", "w", "u", "b"},
       .outputs = {"z", "h"},
       .attributes = {interchange::attribute("direction", "bidirectional")}},
      {.name = "order",
       .type = "Transpose",
       .domain = "",
       .inputs = {"z"},
       .outputs = {"o"},
       .attributes = {interchange::attribute("perm", std::vector<std::int64_t>{0, 2, 1, 3})}},
      {.name = "join", .type = "Reshape", .domain = "", .inputs = {"o", "shape"}, .outputs = {"j"}},
      {.name = "back",
       .type = "Slice",
       .domain = "",
       .inputs = {"j", "begin", "end", "axis", "step"},
       .outputs = {"y"}}};
  return interchange::onnx_file_of(model);
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
  return {convolution_seed(),
          recurrent_seed(),
          transformer_seed(),
          image_seed(),
          directions_seed(),
          interchange::onnx_file_of(interchange::small_onnx_model("Relu")),
          interchange::onnx_file_of(interchange::small_onnx_model("HardSwish"))};
}

void fuzz_onnx(std::string_view bytes) { expect_error_or_result("onnx", read_onnx, bytes); }

}  // namespace trainyard::fuzz
