#include <gtest/gtest.h>

#include "base/protobuf_wire.h"
#include "base/test_folder.h"
#include "interchange/graph_def.h"
#include "interchange/test_models.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

const OpNode& op_of(const ExchangeGraph& graph, const std::string& name) {
  for (const OpNode& op : graph.nodes)
    if (op.name == name) return op;
  throw std::runtime_error("no op " + name);
}

TEST(GraphDef, ShapesAndFlopsFollow) {
  const ExchangeGraph graph = read_graph_def(small_graph_def(), "test");
  ASSERT_EQ(graph.nodes.size(), 9u);
  EXPECT_EQ(op_of(graph, "conv").outputs[0].to_string(), "f32 2x4x4x16");
  EXPECT_EQ(op_of(graph, "relu").outputs[0].to_string(), "f32 2x4x4x16");
  EXPECT_EQ(op_of(graph, "relu").elementwise_flops, 512);
  EXPECT_EQ(op_of(graph, "d_kernel").outputs[0].to_string(), "f32 3x3x3x16");
  EXPECT_EQ(op_of(graph, "conv").flops, 2 * 2 * 4 * 4 * 16 * 27);
  EXPECT_EQ(op_of(graph, "d_kernel").flops, 2 * 2 * 4 * 4 * 16 * 27);
  EXPECT_EQ(op_of(graph, "conv").device, "/device:GPU:0");
}

// Channels first, as tf_cnn_benchmarks runs on GPUs.
TEST(GraphDef, RulesOfCommonOps) {
  const auto node = [](const std::string& name, const std::string& op, const std::string& rest) {
    return "node { name: \"" + name + "\" op: \"" + op + "\" " + rest +
           " attr { key: \"T\" value { type: DT_FLOAT } } }\n";
  };
  const auto attribute = [](const std::string& key, const std::string& value) {
    return " attr { key: \"" + key + "\" value { " + value + " } }";
  };
  const auto constant = [&](const std::string& name, const std::string& values, int count) {
    return node(name, "Const",
                attribute("dtype", "type: DT_INT32") +
                    attribute("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: " +
                                           std::to_string(count) + " } } int_val: [" + values + "] }"));
  };
  const std::string first = attribute("data_format", "s: \"NCHW\""),
                    window = attribute("ksize", "list { i: [1, 1, 3, 3] }") +
                             attribute("strides", "list { i: [1, 1, 2, 2] }") +
                             attribute("padding", "s: \"VALID\"");
  const std::string text =
      node("x", "Placeholder",
           attribute("shape", "shape { dim: [{size: 2}, {size: 8}, {size: 9}, {size: 9}] }")) +
      node("norm", "FusedBatchNormV3", "input: \"x\"" + first) +
      node("pool", "MaxPool", "input: \"norm\"" + first + window) +
      node("means", "AvgPool", "input: \"norm\"" + first + window) + constant("one", "1", 1) +
      node("join", "ConcatV2", "input: \"pool\" input: \"means\" input: \"one\"") +
      constant("rows", "2, 3", 2) + node("mean", "Mean", "input: \"join\" input: \"rows\"") +
      node("bias", "BiasAddGrad", "input: \"join\"" + first) +
      node("w", "VariableV2", attribute("shape", "shape { dim: [{size: 10}, {size: 16}] }")) +
      node("product", "MatMul", "input: \"mean\" input: \"w\"" + attribute("transpose_b", "b: true")) +
      constant("open", "-1, 5", 2) + node("turned", "Reshape", "input: \"product\" input: \"open\"") +
      node("sum", "AddV2", "input: \"turned\" input: \"one\"") + constant("pads", "0, 0, 1, 2", 4) +
      node("padded", "Pad", "input: \"turned\" input: \"pads\"") +
      node("loss", "SparseSoftmaxCrossEntropyWithLogits", "input: \"product\"") +
      node("stranger", "Unheard", "input: \"x\"");
  const ExchangeGraph graph = read_graph_def(text, "test");
  const std::pair<const char*, const char*> expected[] = {{"norm", "f32 2x8x9x9"},
                                                          {"pool", "f32 2x8x4x4"},
                                                          {"join", "f32 2x16x4x4"},
                                                          {"mean", "f32 2x16"},
                                                          {"bias", "f32 16"},
                                                          {"product", "f32 2x10"},
                                                          {"turned", "f32 4x5"},
                                                          {"sum", "f32 4x5"},
                                                          {"padded", "f32 4x8"},
                                                          {"loss", "f32 2"},
                                                          {"stranger", "f32 of unknown shape"}};
  for (const auto& [name, spec] : expected)
    EXPECT_EQ(op_of(graph, name).outputs[0].to_string(), spec) << name;
  EXPECT_EQ(op_of(graph, "product").flops, 2 * 2 * 10 * 16);
  EXPECT_EQ(totals_of(graph).unknown_shapes, 1);
}

// x (?, 8, 8, 3) is flattened to a shape of which the first number is computed.
const char* open_graph_def() {
  return R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } dim { size: 8 } dim { size: 3 } } } } }
node { name: "rows" op: "StridedSlice" input: "x" }
node { name: "columns" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 192 } } } }
node { name: "sizes" op: "Pack" input: "rows" input: "columns" }
node { name: "flat" op: "Reshape" input: "x" input: "sizes" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "said" op: "Reshape" input: "x" input: "rows" attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 96 } } } } } }
node { name: "order" op: "Const" attr { key: "value" value {
       tensor { dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: 0 int_val: 3 int_val: 1 int_val: 2 } } } }
node { name: "turned" op: "Transpose" input: "x" input: "order" attr { key: "T" value { type: DT_FLOAT } } }
)";
}

TEST(GraphDef, AnOpenBatchIsTheAskedOne) {
  for (const std::int64_t batch : {1, 5}) {
    const ExchangeGraph graph = read_graph_def(open_graph_def(), "test", batch);
    const std::string b = std::to_string(batch);
    EXPECT_EQ(op_of(graph, "x").outputs[0].to_string(), "f32 " + b + "x8x8x3");
    EXPECT_EQ(op_of(graph, "flat").outputs[0].to_string(), "f32 " + b + "x192");
    EXPECT_EQ(op_of(graph, "said").outputs[0].to_string(), "f32 " + std::to_string(2 * batch) + "x96");
    EXPECT_EQ(op_of(graph, "turned").outputs[0].to_string(), "f32 " + b + "x3x8x8");
  }
}

std::string field_of(unsigned field, const std::string& content) {
  std::string out;
  put_bytes(out, field, content);
  return out;
}

std::string number_of(unsigned field, std::int64_t value) {
  std::string out;
  put_key(out, field, Wire::varint);
  put_varint(out, static_cast<std::uint64_t>(value));
  return out;
}

std::string node_of(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::pair<std::string, std::string>>& attributes) {
  std::string node = field_of(1, name) + field_of(2, op);
  for (const std::string& input : inputs) node += field_of(3, input);
  for (const auto& [key, value] : attributes) node += field_of(5, field_of(1, key) + field_of(2, value));
  return field_of(1, node);
}

std::string shape_of(const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t dim : dims) shape += field_of(2, number_of(1, dim));
  return shape;
}

// Numbers of messages are those of TensorFlow's graph.proto, attr_value.proto and tensor.proto.
TEST(GraphDef, TheBinaryFormIsTheSameGraph) {
  constexpr std::int64_t kFloat = 1, kInt32 = 3;
  std::string strides;
  for (const std::int64_t stride : {1, 2, 2, 1}) put_varint(strides, static_cast<std::uint64_t>(stride));
  const std::string numbers("\0\0\0\0\377\377\377\377", 8);
  const std::string file =
      node_of("x", "Placeholder", {},
              {{"dtype", number_of(6, kFloat)}, {"shape", field_of(7, shape_of({-1, 8, 8, 3}))}}) +
      node_of("w", "VariableV2", {},
              {{"dtype", number_of(6, kFloat)}, {"shape", field_of(7, shape_of({3, 3, 3, 16}))}}) +
      node_of("conv", "Conv2D", {"x", "w"},
              {{"T", number_of(6, kFloat)},
               {"strides", field_of(1, field_of(3, strides))},
               {"padding", field_of(2, "SAME")}}) +
      node_of("sizes", "Const", {},
              {{"dtype", number_of(6, kInt32)},
               {"value",
                field_of(8, number_of(1, kInt32) + field_of(2, shape_of({2})) + field_of(4, numbers))}}) +
      field_of(4, number_of(1, 27));  // versions
  const ExchangeGraph graph = read_graph_def(text_of_graph_def(file, "test"), "test", 2);
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(op_of(graph, "conv").outputs[0].to_string(), "f32 2x4x4x16");
  EXPECT_EQ(op_of(graph, "conv").flops, 2 * 2 * 4 * 4 * 16 * 27);
  EXPECT_EQ(op_of(graph, "sizes").outputs[0].to_string(), "i32 2");
  expect_error(ErrorKind::config, "is no GraphDef, or is cut off",
               [&] { text_of_graph_def(file.substr(0, file.size() - 1), "'g.pb'"); });
}

TEST(GraphDef, OnlyWhatAnOptimizerAppliesToIsTrained) {
  const ExchangeGraph graph = read_graph_def(small_graph_def(), "test");
  EXPECT_EQ(op_of(graph, "kernel").parameters, 27 * 16);
  EXPECT_EQ(op_of(graph, "momentum").parameters, 0);
  EXPECT_EQ(totals_of(graph).parameters, 27 * 16);
}

TEST(GraphDef, EdgesOfDataAndControl) {
  const ExchangeGraph graph = read_graph_def(small_graph_def(), "test");
  EXPECT_EQ(op_of(graph, "done").inputs, (std::vector<OpInput>{{7, 0, true}}));
  EXPECT_EQ(op_of(graph, "conv").inputs, (std::vector<OpInput>{{0, 0, false}, {1, 0, false}}));
  EXPECT_EQ(totals_of(graph).control_edges, 1);
  const ExchangeGraph ring = read_graph_def(
      R"(node { name: "a" op: "Merge" input: "b:1" } node { name: "b" op: "NextIteration" input: "a" })",
      "test");
  EXPECT_EQ(ring.nodes[0].inputs[0].output, 1);
  EXPECT_EQ(topological_order(ring), (std::vector<int>{0, 1}));
}

TEST(GraphDef, MistakesSayTheirLine) {
  const auto read = [](const std::string& text) { return [text] { read_graph_def(text, "'g.pbtxt'"); }; };
  expect_error(ErrorKind::config, "no node in it", read("versions { producer: 1 }"));
  expect_error(ErrorKind::config, "'g.pbtxt':2: a value is missing", read("node {\n name: }"));
  expect_error(ErrorKind::config, "ends inside a message", read("node { name: \"a\" op: \"b\""));
  expect_error(ErrorKind::config, "a text does not end", read("node { name: \"a"));
  expect_error(ErrorKind::config, "'>' closes nothing", read("node { >"));
  expect_error(ErrorKind::config, "which is no node", read("node { name: \"a\" op: \"b\" input: \"c\" }"));
  expect_error(ErrorKind::config, "two nodes 'a'",
               read("node { name: \"a\" op: \"b\" } node { name: \"a\" op: \"b\" }"));
  expect_error(ErrorKind::config, "missing after '[a?b]'", read("node { [a\nb] 1 }"));
  std::string deep = "node { name: \"a\" op: \"b\" ";
  for (int i = 0; i < 100; ++i) deep += "x { ";
  expect_error(ErrorKind::config, "within each other", read(deep));
}

TEST(TextFormat, ReadsFieldsListsAndEscapes) {
  const std::string who = "test";
  TextReader reader(R"(a: [1, -2] b { c: "x\n\x41\101" 'more' } # end
                       d: TRUE)",
                    who);
  std::vector<std::string> seen;
  for (auto event = reader.next(); event.kind != TextReader::Kind::end; event = reader.next()) {
    const char* kind = event.kind == TextReader::Kind::open    ? "{"
                       : event.kind == TextReader::Kind::close ? "}"
                                                               : "=";
    seen.push_back(std::string(event.name) + kind + reader.text(event));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"a=1", "a=-2", "b{", "c=x\nAA", "}", "d=TRUE"}));
}

}  // namespace
}  // namespace trainyard::interchange
