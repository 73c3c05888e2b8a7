// Gradients are told to be ready while the backward pass still runs, and then nobody changes them.
#include "engine/gradient_schedule.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

using plan::Region;

struct Case {
  const char *network, *backend;
};

train::SessionOptions options_for(const Case& test, bool keep_gradients) {
  train::SessionOptions options;
  // The penalty adds to gradients when all else is done, if nothing is done about it.
  options.model = {.network = test.network, .batch = 2, .weight_decay = 1e-3};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  options.backend = test.backend;
  options.keep_gradients = keep_gradients;
  return options;
}

class GradientSchedules : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().backend) == "onednn" && backend::make_onednn_backend() == nullptr)
      GTEST_SKIP() << "built without oneDNN";
  }

  // Runs the gradients of a session; what was ready, in that order.
  static std::vector<engine::Stretch> ready_in(engine::Executor& executor, std::int64_t step,
                                               std::vector<float>* as_told = nullptr) {
    std::vector<engine::Stretch> told;
    executor.run_gradients({1, step}, [&](std::int64_t first, std::int64_t elements) {
      told.push_back({first, elements});
      if (as_told == nullptr) return;
      const auto there = executor.floats(Region::gradients).subspan(static_cast<std::size_t>(first));
      std::copy_n(there.begin(), elements, as_told->begin() + first);
    });
    return told;
  }
};

TEST_P(GradientSchedules, EveryElementIsToldOnceAndStays) {
  train::Session session(options_for(GetParam(), true));
  engine::Executor& executor = session.executor();
  const auto gradients = executor.floats(Region::gradients);
  for (std::int64_t step = 0; step < 2; ++step) {
    engine::initialise_inputs(executor, static_cast<std::uint64_t>(step));
    std::fill(gradients.begin(), gradients.end(), 7.0f);  // padding between tensors too
    std::vector<float> as_told(gradients.size(), -1.0f);
    std::vector<engine::Stretch> told = ready_in(executor, step, &as_told);
    EXPECT_EQ(std::memcmp(as_told.data(), gradients.data(), gradients.size_bytes()), 0);
    std::sort(told.begin(), told.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t end = 0;
    for (const engine::Stretch& stretch : told) {
      EXPECT_EQ(stretch.first, end);
      EXPECT_GT(stretch.elements, 0);
      end = stretch.end();
    }
    EXPECT_EQ(end, static_cast<std::int64_t>(gradients.size()));
  }
}

TEST_P(GradientSchedules, TheLastKernelLeavesLittle) {
  train::Session session(options_for(GetParam(), true));
  const std::vector<engine::Stretch> told = ready_in(session.executor(), 0);
  const auto all = static_cast<std::int64_t>(session.executor().floats(Region::gradients).size());
  EXPECT_GT(told.size(), 2u);
  EXPECT_LT(told.back().elements, all / 10);
  // Gradients of late layers come first.
  EXPECT_GT(told.front().first, all / 2);
}

// Another order of the same kernels, and an update apart, train to the same bits.
TEST_P(GradientSchedules, PlansThatKeepGradientsTrainTheSame) {
  train::Session keeps(options_for(GetParam(), true)), whole(options_for(GetParam(), false));
  for (std::int64_t step = 0; step < 3; ++step) {
    for (train::Session* session : {&keeps, &whole})
      engine::initialise_inputs(session->executor(), static_cast<std::uint64_t>(step));
    ready_in(keeps.executor(), step);
    keeps.executor().run_update({1, step});
    whole.executor().run({1, step});
    for (const Region region : {Region::parameters, Region::optimizer_state, Region::statistics}) {
      const auto got = keeps.executor().floats(region), want = whole.executor().floats(region);
      ASSERT_EQ(got.size(), want.size());
      ASSERT_TRUE(std::equal(got.begin(), got.end(), want.begin())) << "step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, GradientSchedules,
                         testing::Values(Case{"lenet", "onednn"}, Case{"lenet", "reference"},
                                         Case{"deepmnist", "onednn"}, Case{"cifarnet", "onednn"},
                                         Case{"cifarnet", "reference"}, Case{"resnet20", "onednn"}),
                         [](const auto& test) {
                           return std::string(test.param.network) + "_" + test.param.backend;
                         });

}  // namespace
}  // namespace trainyard
