#include "interchange/onnx_content.h"

#include <gtest/gtest.h>

#include <list>

#include "base/protobuf_wire.h"
#include "base/test_folder.h"
#include "graph/autodiff.h"
#include "interchange/onnx_import.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

namespace id = onnx::field::tensor;

// Returns the tensor "t" of three numbers whose content is written by `content` into its message.
onnx::Tensor tensor_of(const std::string& dtype, const std::function<void(std::string&)>& content) {
  std::string tensor, graph;
  static std::list<std::string> files;  // tensors point into them
  put_key(tensor, id::dims, Wire::varint);
  put_varint(tensor, 3);
  put_key(tensor, id::data_type, Wire::varint);
  put_varint(tensor, static_cast<std::uint64_t>(onnx::number_of_type(dtype)));
  put_bytes(tensor, id::name, "t");
  content(tensor);
  put_bytes(graph, onnx::field::graph::initializer, tensor);
  std::string file;
  put_bytes(file, onnx::field::model::graph, graph);
  files.push_back(file);
  return onnx::read_model(files.back(), "test").initializers.at(0);
}

template <typename T>
onnx::Tensor raw_tensor(const std::string& dtype, std::vector<T> values) {
  return tensor_of(dtype, [&](std::string& out) {
    put_bytes(out, id::raw_data, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  });
}

const std::vector<double> kWanted{1.5, -2, 0.25};

TEST(OnnxContent, NumbersOfEveryTypeAreRead) {
  EXPECT_EQ(read_content(raw_tensor<float>("f32", {1.5f, -2, 0.25f}), "test"), kWanted);
  EXPECT_EQ(read_content(raw_tensor<double>("f64", {1.5, -2, 0.25}), "test"), kWanted);
  EXPECT_EQ(read_content(raw_tensor<std::uint16_t>("f16", {0x3e00, 0xc000, 0x3400}), "test"), kWanted);
  EXPECT_EQ(read_content(raw_tensor<std::uint16_t>("bf16", {0x3fc0, 0xc000, 0x3e80}), "test"), kWanted);
  const std::vector<double> smallest = read_content(raw_tensor<std::uint16_t>("f16", {1, 0x8400, 0}), "test");
  EXPECT_EQ(smallest, (std::vector<double>{0x1p-24, -0x1p-14, 0}));
}

TEST(OnnxContent, TypedFieldsArePackedOrOneByOne) {
  const onnx::Tensor packed = tensor_of("f32", [](std::string& out) {
    std::string floats;
    for (const float value : {1.5f, -2.0f, 0.25f}) put_raw(floats, value);
    put_bytes(out, id::float_data, floats);
  });
  EXPECT_EQ(read_content(packed, "test"), kWanted);
  const onnx::Tensor halves = tensor_of("f16", [](std::string& out) {
    for (const std::uint64_t bits : {0x3e00, 0xc000, 0x3400}) {
      put_key(out, id::int32_data, Wire::varint);
      put_varint(out, bits);
    }
  });
  EXPECT_EQ(read_content(halves, "test"), kWanted);
}

TEST(OnnxContent, WhatIsNotThereIsRefusedInOneLine) {
  const onnx::Tensor outside = tensor_of(
      "f32", [](std::string& out) { put_bytes(out, id::external_data, std::string_view("\x0a\x00", 2)); });
  expect_error(ErrorKind::config, "'f.onnx': the numbers of 't' lie in another file",
               [&] { read_content(outside, "'f.onnx'"); });
  const onnx::Tensor few = tensor_of("f32", [](std::string& out) {
    std::string floats;
    put_raw(floats, 1.0f);
    put_bytes(out, id::float_data, floats);
  });
  expect_error(ErrorKind::config, "1 numbers of it can be read", [&] { read_content(few, "test"); });
}

// Every element says its parameter and its place.
std::vector<float> counted(const graph::Value& value) {
  std::vector<float> floats(static_cast<std::size_t>(value.type.shape.elements()));
  for (std::size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(value.name.size()) + static_cast<float>(i) / 1024;
  return floats;
}

std::vector<std::byte> counted_bytes(const graph::Value& value) {
  const std::vector<float> floats = counted(value);
  std::vector<std::byte> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

// Flattened images, statistics of batch norm and the gates of cells among them.
TEST(OnnxWeights, ComeBackAsTheyWereExported) {
  for (const char* network : {"lenet", "resnet20", "rnn"}) {
    SCOPED_TRACE(network);
    networks::ModelOptions options{.network = network, .batch = 2};
    if (options.network == "rnn")
      options.parameters = {{"cell", "lstm"}, {"hidden", "8"}, {"layers", "1"}, {"vocabulary", "16"}};
    const networks::Model model = networks::build_model(options);
    const std::string file = onnx_file_of(model, counted_bytes);
    const onnx::Model read = onnx::read_model(file, "test");
    FileWeights weights("test");
    const OnnxNetwork back = import_onnx(read, {.batch = 2, .weights = &weights}, "test");
    ASSERT_TRUE(back.obstacles.empty());
    EXPECT_EQ(back.numbers_in_file, graph::parameter_count(model.graph));
    EXPECT_EQ(back.numbers_left_out, 0);
    int compared = 0;
    for (const graph::Value& value : back.graph.values()) {
      if (value.role != graph::Role::parameter && value.role != graph::Role::statistic) continue;
      ASSERT_EQ(value.initializer.kind, graph::Initializer::Kind::listed) << value.name;
      const std::vector<float> wanted = counted(value);
      const std::vector<double>& numbers = *value.initializer.numbers;
      ASSERT_EQ(numbers.size(), wanted.size()) << value.name;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(static_cast<float>(numbers[i]), wanted[i]) << value.name << i;
      ++compared;
    }
    EXPECT_GE(compared, 4);
  }
}

TEST(OnnxWeights, OfSixteenBitsAreTrainedInThirtyTwo) {
  onnx::Model model = small_onnx_model("Relu", 2);
  onnx::Tensor& bias = model.initializers[2];
  bias.dtype = "f16";
  bias.content = [] {
    const std::vector<std::uint16_t> values(10, 0x3e00);
    std::vector<std::byte> bytes(20);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  const std::string file = onnx_file_of(model);
  const onnx::Model read = onnx::read_model(file, "test");
  FileWeights weights("test");
  const OnnxNetwork network = import_onnx(read, {.batch = 2, .weights = &weights}, "test");
  ASSERT_TRUE(network.obstacles.empty()) << network.obstacles[0].reason;
  const graph::Value& value = network.graph.value(network.graph.find("b"));
  EXPECT_EQ(value.type.dtype, DType::f32);
  EXPECT_EQ(*value.initializer.numbers, std::vector<double>(10, 1.5));
}

TEST(OnnxWeights, AMatrixThatIsNotTransposedIsArranged) {
  onnx::Model model = small_onnx_model("Relu", 2);
  onnx::Tensor& weight = model.initializers[1];
  weight = float_tensor("v", {144, 10});
  weight.content = [] {
    std::vector<float> values(1440);
    std::iota(values.begin(), values.end(), 0.0f);
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  model.nodes.back().attributes.clear();
  const std::string file = onnx_file_of(model);
  const onnx::Model read = onnx::read_model(file, "test");
  FileWeights weights("test");
  const OnnxNetwork network = import_onnx(read, {.batch = 2, .weights = &weights}, "test");
  ASSERT_TRUE(network.obstacles.empty()) << network.obstacles[0].reason;
  const graph::Value& value = network.graph.value(network.graph.find("v"));
  EXPECT_EQ(value.type.shape, (Shape{10, 4, 6, 6}));
  EXPECT_EQ(value.initializer.numbers->at(1), 10);        // input 1 of output 0
  EXPECT_EQ(value.initializer.numbers->at(144 + 2), 21);  // input 2 of output 1
  EXPECT_NE(import_onnx(read, {.batch = 2}, "test").graph.value(network.graph.find("v")).initializer.kind,
            graph::Initializer::Kind::listed)
      << "costs do not need them";
}

}  // namespace
}  // namespace trainyard::interchange
