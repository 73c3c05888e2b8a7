#include <algorithm>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

constexpr int kSteps = 5;

train::SessionOptions options_for(const std::string& network, std::int64_t batch) {
  train::SessionOptions options;
  options.model = {.network = network, .batch = batch};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.005;
  options.seed = 9;
  return options;
}

std::vector<float> losses(const train::SessionOptions& options) {
  train::Session session(options);
  std::vector<float> values;
  for (int step = 0; step < kSteps; ++step) {
    engine::initialise_inputs(session.executor(), static_cast<std::uint64_t>(step % 2));
    session.executor().run({options.seed, step});
    values.push_back(session.loss());
  }
  return values;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-4 * std::max(1.0f, a[i])) << "step " << i;
}

TEST(SameLosses, OnBothBackends) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  train::SessionOptions options = options_for("deepmnist", 8);
  options.backend = "onednn";
  const std::vector<float> fast = losses(options);
  options.backend = "reference";
  expect_near(losses(options), fast);
}

class Fusion : public testing::TestWithParam<const char*> {};

TEST_P(Fusion, ChangesNoLoss) {
  train::SessionOptions options = options_for(GetParam(), 4);
  const std::vector<float> fused = losses(options);
  options.fuse = false;
  expect_near(losses(options), fused);
}

INSTANTIATE_TEST_SUITE_P(Networks, Fusion, testing::Values("lenet", "resnet20", "cifarnet"));

TEST(SameLosses, WhenRunAgain) {
  const train::SessionOptions options = options_for("resnet20", 4);
  EXPECT_EQ(losses(options), losses(options));
}

}  // namespace
}  // namespace trainyard
