// Steps of a GPU that are traced learn what they would learn otherwise, and their trace keeps the rules.
#include <algorithm>

#include "curve.h"
#include "engine/canonical.h"
#include "gpu.h"
#include "trace/chrome_format.h"
#include "trace/summary.h"
#include "trace/test_rules.h"
#include "train/loop/timed_steps.h"
#include "train/loop/training.h"

namespace trainyard {
namespace {

using train::Feed;

class GpuTrace : public GpuTest {
 protected:
  static train::SessionOptions options() {
    train::SessionOptions options;
    options.model = {.network = "deepmnist", .batch = 50, .classes = 10};
    options.update.rule = ops::Rule::momentum;
    options.device = DeviceSpec::cuda();
    options.seed = 5;
    return options;
  }

  double final_loss(Feed feed, train::StepTracer* tracer) const {
    train::Replicas replicas(options(), {});
    return train::run_training(
               replicas, digits_,
               {.steps = 40, .preprocess = {"unit", {}}, .feed = feed, .evaluate = false, .tracer = tracer},
               nullptr)
        .final_loss;
  }

  const data::Dataset digits_ = small_dataset({1, 28, 28});
};

TEST_F(GpuTrace, OfATrainingChangesNothing) {
  for (const Feed feed : {Feed::device, Feed::host}) {
    SCOPED_TRACE(train::name(feed));
    train::StepTracer tracer({.first = 20, .count = 3});
    EXPECT_EQ(final_loss(feed, &tracer), final_loss(feed, nullptr));
    const trace::Trace trace = tracer.noted();
    EXPECT_EQ(trace::broken_rules(to_chrome_json(trace)), std::vector<std::string>());
    const trace::Summary summary = trace::summarise(trace);
    ASSERT_EQ(summary.steps.size(), 3u);
    EXPECT_EQ(summary.plain_step_seconds.size(), 3u);
    EXPECT_GT(summary.all.category("conv") + summary.all.category("gemm"), 0);
    const auto is_copy = [](const trace::Span& span) { return span.name == "copy batch to the device"; };
    EXPECT_EQ(std::any_of(trace.spans.begin(), trace.spans.end(), is_copy), feed == Feed::host);
  }
}

TEST_F(GpuTrace, KernelsLieInTheirStepAndTakeAboutAsLong) {
  train::SessionOptions wanted = options();
  wanted.model.batch = 512;
  train::Replicas replicas(wanted, {});
  engine::initialise_inputs(replicas.session(0).executor(), 1);
  train::StepTracer tracer({.count = 5});
  const train::TimedSteps timed = time_steps(replicas, {.warmup_steps = 20, .steps = 50, .tracer = &tracer});
  const trace::Trace trace = tracer.noted();
  EXPECT_EQ(trace::broken_rules(to_chrome_json(trace)), std::vector<std::string>());
  const trace::Summary summary = trace::summarise(trace);
  const trace::TimeShares& all = summary.all;
  const double kernels = (all.seconds - all.category("idle")) / 5;
  const double step = timed.event_seconds / static_cast<double>(timed.seconds.size());
  // One behind the other, with events between: longer than beside each other, by far not by another order.
  EXPECT_GT(kernels, 0.8 * step);
  EXPECT_LT(kernels, 3 * step);
}

}  // namespace
}  // namespace trainyard
