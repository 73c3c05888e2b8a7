// The launch and roofline model against the baselines of specs/paradnn.md, 5.2: step times of an A100 from
// what a step does and its time on a T4, float32, over four ways to hold points out.

#include <cstdio>
#include <functional>
#include <map>
#include <tuple>

#include "analyze/speedup.h"
#include "analyze/transfer.h"
#include "golden/published.h"
#include "stats/least_squares.h"

namespace trainyard::golden {
namespace {

using analyze::JoinedPoint;
using analyze::PairedSample;
using analyze::Point;

class StepModelTest : public PublishedTest {
 protected:
  void SetUp() override {
    PublishedTest::SetUp();
    if (IsSkipped()) return;
    t4_ = points("pytorch-paradnn/fc_T4.f32.csv");
    a100_ = points("pytorch-paradnn/fc_A100.f32.csv");
    joined_ = analyze::join_points(t4_, a100_, "step_seconds", {"device"});
  }

  PairedSample sample(const JoinedPoint& point) const {
    return {*analyze::work_of(*point.a), point.a->metric("step_seconds"), point.b->metric("step_seconds")};
  }

  // Fitted to the points that are not held out, and judged by those that are.
  double error(const std::function<bool(std::size_t)>& held_out) const {
    std::vector<PairedSample> training, test;
    for (std::size_t i = 0; i < joined_.size(); ++i)
      (held_out(i) ? test : training).push_back(sample(joined_[i]));
    const analyze::TransferModel model = analyze::fit_transfer(training);
    std::vector<double> predicted, measured;
    for (const PairedSample& one : test) {
      predicted.push_back(model.predict(one.work, one.source_seconds));
      measured.push_back(one.target_seconds);
    }
    const double error = analyze::mean_relative_error(predicted, measured);
    std::printf("mean relative error %.4f over %zu points held out\n", error, test.size());
    return error;
  }

  double key(std::size_t i, const char* name) const { return joined_[i].a->key(name); }

  std::vector<Point> t4_, a100_;
  std::vector<JoinedPoint> joined_;
};

TEST_F(StepModelTest, BeatsTheBaselinesWithGroupsHeldOut) {
  // Points that differ in inputs and outputs alone stay together; a fifth is held out, in turn.
  std::map<std::tuple<double, double, double>, std::size_t> numbers;
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < joined_.size(); ++i)
    groups.push_back(
        numbers.emplace(std::tuple(key(i, "layers"), key(i, "width"), key(i, "batch")), numbers.size())
            .first->second);
  double sum = 0;
  int splits = 0;
  for (const std::uint64_t seed : {1, 2}) {
    const std::vector<int> fold = stats::assign_group_folds(groups, 5, seed);
    for (int f = 0; f < 5; ++f, ++splits) sum += error([&](std::size_t i) { return fold[i] == f; });
  }
  EXPECT_LT(sum / splits, 0.165);
}

TEST_F(StepModelTest, BeatsTheBaselinesBeyondTheirWidths) {
  EXPECT_LT(error([&](std::size_t i) { return key(i, "width") >= 1024; }), 0.18);
}

TEST_F(StepModelTest, BeatsTheBaselinesBeyondTheirBatches) {
  EXPECT_LT(error([&](std::size_t i) { return key(i, "batch") >= 4096; }), 0.18);
}

TEST_F(StepModelTest, BeatsTheBaselinesAtOtherDepths) {
  EXPECT_LT(error([&](std::size_t i) { return key(i, "layers") == 32 || key(i, "layers") == 128; }), 0.15);
}

}  // namespace
}  // namespace trainyard::golden
