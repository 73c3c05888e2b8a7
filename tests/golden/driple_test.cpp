#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "predict/gnn/driple.h"
#include "weights/state_dict.h"

// The published weights of Driple (Yang et al., SIGMETRICS 2022; github.com/gsyang33/Driple,
// training/pre-train.pkl), and what the authors' network, run in PyTorch with them, made of a small graph.
namespace trainyard::golden {
namespace {

class Driple : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TRAINYARD_PUBLISHED_FOLDER");
    path_ = std::filesystem::path(given != nullptr ? given : "../shared/data") / "driple/pre-train.pkl";
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << "no published weights at '" << path_.string() << "'";
  }

  predict::GnnModel model() const {
    const std::vector<std::byte> file = read_file(path_);
    return predict::import_driple(weights::parse_state_dict(file, path_.string()), path_.string());
  }

  std::filesystem::path path_;
};

// Nodes 1 to 6 stand in a row, with features (i, 1, 0.01 i).
predict::GraphSample path_of_six() {
  predict::GraphSample sample{.name = "path", .nodes = 6};
  for (int i = 1; i <= 6; ++i)
    sample.features.insert(sample.features.end(),
                           {static_cast<float>(i), 1.0f, 0.01f * static_cast<float>(i)});
  predict::set_undirected_edges(sample, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  return sample;
}

TEST_F(Driple, StateDictHasEighteenTensors) {
  const std::vector<std::byte> file = read_file(path_);
  const auto tensors = weights::parse_state_dict(file, path_.string());
  EXPECT_EQ(tensors.size(), 18u);
  EXPECT_EQ(tensors.front().name, "conv_layers.0.W");
  EXPECT_EQ(tensors.front().to_string(), "f32 3x64");
  EXPECT_EQ(model().parameter_count(), 92236);
}

TEST_F(Driple, PublishedWeightsGivePublishedOutputs) {
  const float expected[] = {0.110069f, 0.112526f, 0.564792f, 0.089399f, 0.097852f, 0.777569f,
                            0.132860f, 0.028335f, 0.494829f, 0.113699f, 0.054601f, 0.417287f};
  const predict::GnnModel driple = model();
  // Three convolutions are half of six nodes; six steps are all of them.
  const auto outputs = predict::predict(driple, {{path_of_six()}});
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_NEAR(outputs[0][i], expected[i], 1e-5) << i;
}

TEST_F(Driple, RawFeaturesAreNotBounded) {
  predict::GraphSample large = path_of_six();
  for (std::size_t i = 0; i < large.features.size(); i += 3) large.features[i] *= 1e6f;
  const auto outputs = predict::predict(model(), {{large}})[0];
  EXPECT_NEAR(*std::min_element(outputs.begin(), outputs.end()), -502, 1);
  EXPECT_NEAR(*std::max_element(outputs.begin(), outputs.end()), 134428, 15);
}

}  // namespace
}  // namespace trainyard::golden
