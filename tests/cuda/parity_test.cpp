// A network learns the same on a GPU as on the CPU, step by step.
#include <numeric>

#include <fmt/core.h>

#include "curve.h"
#include "gpu.h"

namespace trainyard {
namespace {

using backend::Precision;

// Sums in another order differ in the last bit of f32, and training makes such a difference grow: a change of
// 2e-7 in every parameter is one of 5e-6 in the loss after 100 steps of deepmnist and of 2e-4 after 200, and
// learning rates ten times as high bring it to 10 %. So the rates here are low, and later steps may differ
// more.
constexpr double kEarly = 1e-3, kLate = 2e-2;

class Parity : public GpuTest {
 protected:
  static std::vector<float> on(const std::string& device, train::SessionOptions options, const Shape& images,
                               std::int64_t steps, std::vector<float>* ema = nullptr) {
    const data::Dataset dataset = small_dataset(images);
    options.device = DeviceSpec::parse(device);
    options.seed = 7;
    Curve curve(options, dataset);
    const std::vector<float> losses = curve.run(0, steps);
    if (ema != nullptr) *ema = curve.state(":ema");
    return losses;
  }

  static void expect_same(const std::vector<float>& got, const std::vector<float>& want,
                          std::size_t early_steps) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double allowed = i < early_steps ? kEarly : kLate;
      ASSERT_NEAR(got[i], want[i], allowed * std::max(1.0f, want[i])) << "step " << i;
    }
  }

  static train::SessionOptions deepmnist() {
    train::SessionOptions options;
    options.model = {.network = "deepmnist", .batch = 8};
    options.update.rule = ops::Rule::adam;
    options.update.schedule.rate = 2e-5;
    options.update.ema_decay = 0.99;
    return options;
  }
};

TEST_F(Parity, TwoHundredStepsWithDropoutAdamAndMovingAverages) {
  std::vector<float> ema, cpu_ema;
  const std::vector<float> losses = on("cuda", deepmnist(), {1, 28, 28}, 200, &ema);
  expect_same(losses, on("cpu", deepmnist(), {1, 28, 28}, 200, &cpu_ema), 100);
  const auto mean = [](auto first) { return std::accumulate(first, first + 50, 0.0) / 50; };
  EXPECT_LT(mean(losses.end() - 50), 0.8 * mean(losses.begin()))
      << "it learns nothing: the curves say little";
  ASSERT_FALSE(ema.empty());
  EXPECT_LT(relative_error(ema, cpu_ema), 1e-2);
}

TEST_F(Parity, CropsFlipsResponseNormAndMomentum) {
  train::SessionOptions options;
  options.model = {.network = "cifarnet", .batch = 4, .weight_decay = 1e-3};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  expect_same(on("cuda", options, {3, 32, 32}, 60), on("cpu", options, {3, 32, 32}, 60), 40);
}

TEST_F(Parity, BatchNorm) {
  train::SessionOptions options;
  options.model = {.network = "resnet20", .batch = 4};
  options.update.rule = ops::Rule::momentum;
  options.update.nesterov = true;
  options.update.schedule.rate = 1e-3;
  // Statistics of four images carry differences on fast: the two CPU backends are 1e-3 apart after 20 steps.
  expect_same(on("cuda", options, {3, 32, 32}, 20), on("cpu", options, {3, 32, 32}, 20), 10);
}

// bf16 keeps 8 bits of each factor: single steps differ by some percent, and the trajectories diverge. The
// test therefore compares how fast the network learns.
TEST_F(Parity, Bf16LearnsAsFast) {
  constexpr std::int64_t kWindow = 25;
  const std::vector<float> want = on("cuda", deepmnist(), {1, 28, 28}, 200);
  train::SessionOptions options = deepmnist();
  options.precision = Precision::bf16;
  const std::vector<float> got = on("cuda", options, {1, 28, 28}, 200);
  EXPECT_NEAR(got.front(), want.front(), 0.02 * want.front());
  for (auto first = got.begin(), other = want.begin(); first != got.end();
       first += kWindow, other += kWindow) {
    const double mean = std::accumulate(first, first + kWindow, 0.0) / kWindow;
    const double wanted = std::accumulate(other, other + kWindow, 0.0) / kWindow;
    EXPECT_NEAR(mean, wanted, 0.1 * wanted + 0.02) << "from step " << first - got.begin();
  }
}

}  // namespace
}  // namespace trainyard
