#include "train/session/step_tracer.h"

#include <gtest/gtest.h>

#include "base/cores.h"
#include "base/error.h"
#include "engine/canonical.h"
#include "trace/chrome_format.h"
#include "trace/summary.h"
#include "trace/test_rules.h"
#include "train/loop/timed_steps.h"
#include "train/loop/training.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {
namespace {

using Kind = StepTracer::Kind;

const std::vector<std::string> kNothing;

SessionOptions traced_session() {
  SessionOptions options;
  options.model = {.network = "lenet", .batch = 8, .classes = 4, .input = {1, 12, 12}};
  options.update.schedule.rate = 0.01;
  return options;
}

std::int64_t kernels_of(const engine::Executor& executor) {
  const auto& steps = executor.plan().steps;
  return std::count_if(steps.begin(), steps.end(),
                       [](const plan::Step& step) { return step.phase != graph::Phase::prepare; });
}

std::int64_t spans_of(const trace::Trace& trace, const std::string& category) {
  return std::count_if(trace.spans.begin(), trace.spans.end(),
                       [&](const trace::Span& span) { return span.category == category; });
}

std::int64_t kernels_in(const trace::Trace& trace) {
  return std::count_if(trace.spans.begin(), trace.spans.end(),
                       [](const trace::Span& span) { return span.text("op") != nullptr; });
}

std::set<std::string> names_of(const trace::Trace& trace) {
  std::set<std::string> names;
  for (const trace::Span& span : trace.spans) names.insert(span.name);
  return names;
}

double sum(const std::map<std::string, double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double so_far, const auto& each) { return so_far + each.second; });
}

TEST(StepTracer, ChoosesWhichStepsToNote) {
  StepTracer asked({.first = 20, .count = 3});
  asked.choose(0, 0, 30);
  EXPECT_EQ(asked.kind(16), Kind::none);
  EXPECT_EQ(asked.kind(17), Kind::plain);
  EXPECT_EQ(asked.kind(19), Kind::plain);
  EXPECT_EQ(asked.kind(20), Kind::traced);
  EXPECT_EQ(asked.kind(22), Kind::traced);
  EXPECT_EQ(asked.kind(23), Kind::none);
  EXPECT_EQ(asked.unnoted(10, 100), 7);
  EXPECT_EQ(asked.unnoted(10, 5), 5);
  EXPECT_EQ(asked.unnoted(23, 5), 5);
  EXPECT_THROW(asked.choose(0, 0, 22), Error);
  EXPECT_THROW(asked.choose(0, 21, 30), Error);

  StepTracer open({.count = 3});
  EXPECT_EQ(open.kind(0), Kind::none);
  open.choose(10, 0, 100);
  EXPECT_EQ(open.kind(10), Kind::traced);
  StepTracer late({.count = 3});
  late.choose(10, 0, 5);
  EXPECT_EQ(late.kind(2), Kind::traced);
  StepTracer many({.count = 3});
  EXPECT_THROW(many.choose(10, 0, 2), Error);
}

TEST(StepTracer, EveryKernelOfATimedStepIsInTheTrace) {
  Replicas replicas(traced_session(), {});
  engine::initialise_inputs(replicas.session(0).executor(), 1);
  StepTracer tracer({.count = 4});
  const TimedSteps timed = time_steps(replicas, {.warmup_steps = 2, .steps = 5, .tracer = &tracer});
  EXPECT_EQ(timed.seconds.size(), 5u);  // as without a trace
  const trace::Trace trace = tracer.noted();
  EXPECT_EQ(trace::broken_rules(to_chrome_json(trace)), kNothing);
  EXPECT_EQ(spans_of(trace, "step"), 4);
  EXPECT_EQ(spans_of(trace, "plain_step"), 4);
  EXPECT_EQ(kernels_in(trace), 4 * kernels_of(replicas.session(0).executor()));
  for (const char* phase : {"forward", "backward", "update"})
    EXPECT_TRUE(names_of(trace).contains(phase)) << phase;
  const trace::Summary summary = trace::summarise(trace);
  ASSERT_EQ(summary.steps.size(), 4u);
  for (const trace::StepTime& step : summary.steps)
    EXPECT_NEAR(sum(step.time.by_category), step.time.seconds, 1e-9) << step.name;
  EXPECT_GT(summary.all.category("conv"), 0);
  EXPECT_GT(summary.all.category("gemm"), 0);
  std::int64_t flops = 0;
  for (const trace::OpTime& op : summary.ops) flops += op.flops;
  EXPECT_EQ(flops, 4 * replicas.session(0).work_per_step().flops);
}

TEST(StepTracer, StepsInTheMiddleAreNotAmongTheTimedOnes) {
  Replicas replicas(traced_session(), {});
  engine::initialise_inputs(replicas.session(0).executor(), 1);
  StepTracer tracer({.first = 4, .count = 2});
  const TimedSteps timed = time_steps(replicas, {.warmup_steps = 1, .steps = 9, .tracer = &tracer});
  EXPECT_EQ(timed.seconds.size(), 7u);
  EXPECT_TRUE(names_of(tracer.noted()).contains("step 4"));
  EXPECT_TRUE(names_of(tracer.noted()).contains("step 5"));
  EXPECT_EQ(spans_of(tracer.noted(), "step"), 2);
  StepTracer beyond({.first = 9, .count = 2});
  EXPECT_THROW(time_steps(replicas, {.warmup_steps = 1, .steps = 9, .tracer = &beyond}), Error);
}

TrainOptions loop_of(StepTracer* tracer) {
  return {.steps = 8, .preprocess = {"lenet", {1, 12, 12}}, .evaluate = false, .tracer = tracer};
}

TEST(StepTracer, TrainingIsTheSameAndItsInputIsSeen) {
  const data::Dataset dataset = small_dataset();
  Replicas plain(traced_session(), {}), traced(traced_session(), {});
  StepTracer tracer({.count = 3});
  const TrainResult expected = run_training(plain, dataset, loop_of(nullptr), nullptr);
  const TrainResult result = run_training(traced, dataset, loop_of(&tracer), nullptr);
  EXPECT_EQ(result.final_loss, expected.final_loss);
  const trace::Trace trace = tracer.noted();
  EXPECT_EQ(trace::broken_rules(to_chrome_json(trace)), kNothing);
  EXPECT_EQ(spans_of(trace, "step"), 3);
  EXPECT_EQ(spans_of(trace, "wait"), 3);
  EXPECT_TRUE(names_of(trace).contains("make batch 7"));  // in the thread that makes them
  EXPECT_GT(trace::summarise(trace).all.infeed_share(), 0);
}

class TracedDevices : public testing::TestWithParam<Strategy> {};

INSTANTIATE_TEST_SUITE_P(Strategies, TracedDevices,
                         testing::Values(Strategy::towers_device, Strategy::towers_host, Strategy::allreduce),
                         [](const auto& parameter) {
                           std::string text = name(parameter.param);
                           std::erase(text, '-');
                           return text;
                         });

TEST_P(TracedDevices, EachIsAProcessAndExchangesAreSeen) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const data::Dataset dataset = small_dataset();
  Replicas replicas(traced_session(), {GetParam(), 2, Scaling::weak});
  StepTracer tracer({.count = 2});
  run_training(replicas, dataset, loop_of(&tracer), nullptr);
  const trace::Trace trace = tracer.noted();
  EXPECT_EQ(trace::broken_rules(to_chrome_json(trace)), kNothing);
  EXPECT_EQ(spans_of(trace, "step"), 4);
  const trace::Summary summary = trace::summarise(trace);
  EXPECT_EQ(summary.devices, 2);
  EXPECT_EQ(summary.steps.size(), 2u);
  EXPECT_GT(summary.all.category("communication"), 0);
  EXPECT_GT(summary.all.category("optimizer"), 0);
}

}  // namespace
}  // namespace trainyard::train
