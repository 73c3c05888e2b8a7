#include <gtest/gtest.h>

#include "base/error.h"
#include "predict/analytic/step_time.h"
#include "predict/analytic/use_model.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {
namespace {

NetworkWork work_named(const char* network, std::int64_t batch, ops::Rule rule = ops::Rule::sgd) {
  return work_of({.network = network, .batch = batch, .classes = 1001, .optimizer = rule});
}

StepParts parts_on(const char* device, const NetworkWork& work) {
  return step_parts(work, find_device(known_devices(), device), first_shared(), first_of_device());
}

TEST(NetworkWorkTest, CountsWhatTheNetworkHas) {
  const NetworkWork work = work_named("vgg16", 2);
  EXPECT_DOUBLE_EQ(work.parameters, 138361641);
  EXPECT_EQ(work.variables, 32);
  EXPECT_NEAR(work.forward_flops / 2, 30.94e9, 0.01e9);
  double flops = 0;
  for (const KernelWork& kernel : work.kernels) flops += kernel.count * kernel.flops;
  EXPECT_DOUBLE_EQ(flops, work.flops);
  // The step has 13 convolutions and 3 dense layers, forward and two gradients, but none of the images.
  double products = 0;
  for (const KernelWork& kernel : work.kernels)
    products += kernel.kind == KernelKind::product ? kernel.count : 0;
  EXPECT_EQ(products, 3 * 16 - 1);
  EXPECT_EQ(work.state_slots, 0);
  EXPECT_EQ(work_named("vgg16", 2, ops::Rule::adam).state_slots, 2);
}

TEST(NetworkWorkTest, ProductsSayTheirShape) {
  for (const KernelWork& kernel : work_named("resnet20", 4).kernels) {
    if (kernel.kind != KernelKind::product) continue;
    EXPECT_DOUBLE_EQ(2 * kernel.rows * kernel.columns * kernel.inner * kernel.groups, kernel.flops);
  }
}

TEST(StepTimeTest, MoreWorkTakesLongerAndFasterDevicesLess) {
  double before = 0;
  for (const std::int64_t batch : {8, 16, 32, 64}) {
    const double step = parts_on("GTX1080", work_named("googlenet", batch)).step;
    EXPECT_GT(step, before);
    before = step;
  }
  const NetworkWork large = work_named("vgg16", 32);
  EXPECT_LT(parts_on("TitanX", large).step, parts_on("GTX1080", large).step);
  EXPECT_LT(parts_on("H200", large).step, 0.5 * parts_on("TitanX", large).step);
  EXPECT_GT(parts_on("GTX1080", work_named("vgg16", 8, ops::Rule::adam)).update,
            parts_on("GTX1080", work_named("vgg16", 8)).update);
}

TEST(StepTimeTest, TheHostDecidesForSmallNetworks) {
  const StepParts small = parts_on("H200", work_named("lenet", 8));
  EXPECT_GT(small.host, 3 * small.device());
  const StepParts large = parts_on("GTX1080", work_named("vgg19", 64));
  EXPECT_GT(large.device(), 3 * large.host);
  EXPECT_GE(large.step, large.device());
  EXPECT_LE(large.step, large.device() + large.host);
}

TEST(StepTimeTest, RunsAreStartAndStepsAndReports) {
  StepParts parts;
  parts.start = 7;
  parts.step = 0.5;
  DeviceConstants own = first_of_device();
  own[kReportSeconds] = 1e-4;
  EXPECT_DOUBLE_EQ(run_seconds(parts, own, 100, true), 7 + 50 + 1);
  EXPECT_DOUBLE_EQ(run_seconds(parts, own, 100, false), 51);
}

TEST(MemoryNeedTest, GrowsWithBatchAndOptimizer) {
  const MemoryNeed sgd = memory_need(work_named("resnet50", 16));
  const MemoryNeed adam = memory_need(work_named("resnet50", 16, ops::Rule::adam));
  const MemoryNeed twice = memory_need(work_named("resnet50", 32));
  EXPECT_EQ(sgd.weights, 4 * 25559081);
  EXPECT_EQ(sgd.optimizer, 0);
  EXPECT_EQ(adam.optimizer, 2 * sgd.weights);
  EXPECT_NEAR(twice.activations, 2 * sgd.activations, 0.02 * twice.activations);
  EXPECT_EQ(twice.weights, sgd.weights);
}

TEST(MemoryNeedTest, TheShareIsLearnedBetweenWhatFitsAndWhatDoesNot) {
  const double memory = 8e9;
  const MemoryModel model =
      fit_memory({{7.0e9, memory, false}, {7.2e9, memory, false}, {7.9e9, memory, true}});
  EXPECT_LT(model.oom_probability(7.0e9, {.memory_bytes = memory}), 0.2);
  EXPECT_GT(model.oom_probability(7.9e9, {.memory_bytes = memory}), 0.6);
  EXPECT_LT(model.oom_probability(3e9, {.memory_bytes = memory}), 1e-6);
  EXPECT_GT(model.oom_probability(12e9, {.memory_bytes = memory}), 1 - 1e-6);
}

TEST(DeviceTest, NamesAreFoundInAnySpelling) {
  EXPECT_EQ(find_device(known_devices(), "gtx-1080").name, "GTX1080");
  EXPECT_EQ(find_device(known_devices(), "Titan X").multiprocessors, 28);
  try {
    find_device(known_devices(), "Voodoo");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown device 'Voodoo'; known are GTX1080"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard::predict
