// Our own measurements (studies/measured) against the bars of docs/prediction.md: six families of networks
// that were chosen before anything was measured are held out at once.

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "predict/analytic/evaluate.h"
#include "predict/kernels/kernel_model.h"
#include "predict/runs/device.h"

namespace trainyard::golden {
namespace {

predict::Score score_of(const char* file, const char* device, std::vector<std::string> held_out) {
  const std::filesystem::path folder = "studies/measured";
  std::vector<predict::DeviceSheet> devices = predict::known_devices();
  for (const predict::DeviceSheet& measured : predict::read_devices(folder / "devices.yaml"))
    devices.push_back(measured);
  const predict::RunSet set = predict::prepare_runs(predict::read_runs(folder / file, device), devices);
  const predict::Split split =
      predict::make_splits(set, {.kind = predict::SplitKind::family, .together = std::move(held_out)})[0];
  const auto predictor = predict::make_predictor(predict::fit_kernel_model(set, split.train));
  return predict::score(predict::judge(*predictor, set, split.test));
}

predict::Score score_of_six_families(const char* file, const char* device) {
  return score_of(file, device, {"vgg", "inception", "densenet", "mobilenet", "resnet_cifar", "lenet"});
}

void expect_bars(const predict::Score& score, double mape) {
  EXPECT_GE(score.runs, 49u);
  EXPECT_LT(score.mape, mape);
  EXPECT_GT(score.coverage, 0.86);
  EXPECT_LT(score.coverage, 0.94);
}

TEST(OwnMeasurementsTest, Cpu) {
  const predict::Score score = score_of_six_families("cpu.jsonl.gz", "epyc2");
  expect_bars(score, 0.10);
  if (backend::make_onednn_backend() != nullptr) {  // by which these runs were planned
    EXPECT_LT(score.memory_mape, 0.05);
  }
}

TEST(OwnMeasurementsTest, H200) {
  const predict::Score score = score_of_six_families("h200.jsonl.gz", "H200");
  expect_bars(score, 0.08);
  EXPECT_LT(score.memory_mape, 0.05);
}

TEST(OwnMeasurementsTest, TransformersOnTheH200) {
  const predict::Score score = score_of("h200.jsonl.gz", "H200", {"transformer"});
  EXPECT_EQ(score.runs, 8u);
  EXPECT_LT(score.mape, 0.12);
  EXPECT_LT(score.memory_mape, 0.06);
}

void expect_transformer_bars(const predict::Score& score, std::size_t runs, double mape) {
  EXPECT_EQ(score.runs, runs);
  EXPECT_LT(score.mape, mape);
  if (backend::make_onednn_backend() != nullptr) {
    EXPECT_EQ(score.memory_runs, runs);
    EXPECT_LT(score.memory_mape, 0.06);
  }
}

TEST(OwnMeasurementsTest, TransformersByVisionTransformersAndOthers) {
  expect_transformer_bars(score_of("transformers-cpu.jsonl.gz", "epyc2_zen5", {"transformer"}), 81, 0.12);
}

TEST(OwnMeasurementsTest, NetworksWithAttentionByNetworksWithoutAny) {
  expect_transformer_bars(score_of("transformers-cpu.jsonl.gz", "epyc2_zen5", {"transformer", "vit"}), 127,
                          0.14);
}

}  // namespace
}  // namespace trainyard::golden
