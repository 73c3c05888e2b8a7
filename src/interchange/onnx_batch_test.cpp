#include "interchange/onnx_batch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_folder.h"
#include "graph/graph.h"
#include "interchange/read_graph.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

constexpr std::int64_t kBatch = 4;

onnx::Tensor shape_tensor(const std::string& name, const std::vector<std::int64_t>& dims) {
  onnx::Tensor tensor;
  tensor.name = name;
  tensor.dtype = "i64";
  tensor.dims = {static_cast<std::int64_t>(dims.size())};
  tensor.numbers.assign(dims.begin(), dims.end());
  tensor.content = [dims] {
    std::vector<std::byte> bytes(dims.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), dims.data(), bytes.size());
    return bytes;
  };
  return tensor;
}

// x (batch, 3, 8, 8) -> Conv -> m (batch, 4, 6, 6) -> Reshape to each of these -> Gemm -> y
onnx::Model with_reshapes(const std::vector<std::vector<std::int64_t>>& shapes, std::int64_t batch = kBatch) {
  onnx::Model model = small_onnx_model("Relu", batch);
  model.nodes.erase(model.nodes.begin() + 2);
  std::string from = "m";
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = "r" + std::to_string(i);
    model.initializers.push_back(shape_tensor(name + "_dims", shapes[i]));
    model.nodes.insert(
        model.nodes.end() - 1,
        {.name = name, .type = "Reshape", .domain = "", .inputs = {from, name + "_dims"}, .outputs = {name}});
    from = name;
  }
  model.nodes.back().inputs[0] = from;
  return model;
}

class OnnxBatchTest : public testing::Test {
 protected:
  std::shared_ptr<const networks::NetworkFile> read(const onnx::Model& model) const {
    const auto path = folder_.path() / "model.onnx";
    std::ofstream(path, std::ios::binary) << onnx_file_of(model);
    return read_trainable(path);
  }
  static Shape logits_at(const networks::NetworkFile& file, std::int64_t batch) {
    const graph::Graph graph = file.build(batch, true);
    return graph.shape(graph.outputs().front());
  }

 private:
  TestFolder folder_;
};

TEST_F(OnnxBatchTest, OfReshapesIsThatOfWhatTheyReshape) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{kBatch, 144}, {kBatch, -1}, {-1, 144}, {0, 144}}) {
    const auto file = read(with_reshapes({shape}));
    for (const std::int64_t batch : {1, 4, 7}) EXPECT_EQ(logits_at(*file, batch), (Shape{batch, 10}));
  }
}

TEST_F(OnnxBatchTest, OfRowsOfAllSamplesFollows) {
  const auto file = read(with_reshapes({{kBatch * 6, 24}, {kBatch, 144}}));
  for (const std::int64_t batch : {1, 4, 6}) EXPECT_EQ(logits_at(*file, batch), (Shape{batch, 10}));
}

TEST_F(OnnxBatchTest, OneIsOpenedToo) {
  const auto file = read(with_reshapes({{1, 144}}, 1));
  EXPECT_EQ(logits_at(*file, 5), (Shape{5, 10}));
}

// The first dimension is a multiple of the batch, and another one is the batch: either may be it.
TEST_F(OnnxBatchTest, ThatIsNotSureStaysAndIsSaid) {
  const auto file = read(with_reshapes({{8, kBatch, 18}, {kBatch, 144}}));
  EXPECT_EQ(logits_at(*file, kBatch), (Shape{kBatch, 10}));
  try {
    file->build(2, true);
    FAIL() << "the file has no batch of 2";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fixes its batch at 4, and batch is 2"), std::string::npos)
        << error.what();
  }
}

TEST_F(OnnxBatchTest, NamesAndOpenBatchesAreTheAskedOne) {
  const auto file = read(with_reshapes({{0, 144}}, kUnknown));
  EXPECT_EQ(logits_at(*file, 3), (Shape{3, 10}));
}

}  // namespace
}  // namespace trainyard::interchange
