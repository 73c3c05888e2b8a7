// Made traces whose answers are known.

#include "trace/summary.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "trace/chrome_format.h"

namespace trainyard::trace {
namespace {

constexpr double kExact = 1e-12;

class Made {
 public:
  Span& add(const Track& track, const char* name, const char* category, double began, double ended) {
    trace.spans.push_back({trace.track(track), name, category, began, ended - began, {}});
    return trace.spans.back();
  }
  void kernel(const Track& track, const char* op, const char* category, double began, double ended) {
    add(track, op, category, began, ended).arguments = {{"op", op}, {"flops", 10}, {"bytes", 4}};
  }
  Trace trace;
};

double sum(const std::map<std::string, double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double so_far, const auto& each) { return so_far + each.second; });
}

const Track kSteps{"device 0", "steps", 1}, kCopies{"device 0", "copies", 1}, kInput{"device 0", "input", 1};

TEST(TraceSummary, EveryMomentOfAStepIsInOneCategory) {
  Made made;
  made.add(kSteps, "step 3", "step", 10, 20);
  made.add(kSteps, "input", "phase", 10, 12);
  made.add(kSteps, "wait", "wait", 10, 11.5);
  made.add(kSteps, "copy", "copy", 11.5, 12);
  made.kernel(kSteps, "conv2d", "conv", 12, 14);
  made.kernel(kSteps, "reorder", "copy", 14, 14.25);  // a kernel that moves is no copy of the input
  made.kernel(kSteps, "dense", "gemm", 15, 16);
  made.add(kSteps, "exchange", "communication", 16, 19);
  made.kernel(kSteps, "update", "optimizer", 18, 19);
  made.add(kInput, "batch 4", "input", 0, 30);  // beside, and no part of it
  made.add(kSteps, "step 2, not traced", "plain_step", 0, 8);
  const Summary summary = summarise(made.trace);
  ASSERT_EQ(summary.steps.size(), 1u);
  const TimeShares& time = summary.steps[0].time;
  EXPECT_EQ(summary.steps[0].name, "step 3");
  EXPECT_EQ(time.seconds, 10);
  EXPECT_NEAR(sum(time.by_category), 10, kExact);
  EXPECT_NEAR(time.category("wait"), 1.5, kExact);
  EXPECT_NEAR(time.category("copy"), 0.75, kExact);
  EXPECT_NEAR(time.category("conv"), 2, kExact);
  EXPECT_NEAR(time.category("gemm"), 1, kExact);
  EXPECT_NEAR(time.category("communication"), 2, kExact);
  EXPECT_NEAR(time.category("optimizer"), 1, kExact);
  EXPECT_NEAR(time.category("idle"), 1.75, kExact);
  EXPECT_NEAR(time.idle_cause("input"), 1.5, kExact);
  EXPECT_NEAR(time.idle_cause("copy"), 0.5, kExact);
  EXPECT_NEAR(time.idle_cause("communication"), 2, kExact);
  EXPECT_NEAR(time.idle_cause("host"), 1.75, kExact);
  EXPECT_NEAR(time.infeed_share(), 0.2, kExact);
  EXPECT_NEAR(summary.overhead(), 10.0 / 8 - 1, kExact);
  ASSERT_EQ(summary.ops.size(), 4u);
  EXPECT_EQ(summary.ops[0].name, "conv2d");
  EXPECT_EQ(summary.ops[0].count, 1);
  EXPECT_EQ(summary.ops[0].flops, 10);
  EXPECT_EQ(summary.ops[0].bytes, 4);
}

TEST(TraceSummary, CopiesBesideKernelsCostNothing) {
  Made made;
  made.add(kSteps, "step 0", "step", 0, 10);
  made.kernel(kSteps, "dense", "gemm", 2, 8);
  made.add(kCopies, "copy", "copy", 1, 5);
  const TimeShares time = summarise(made.trace).all;
  EXPECT_NEAR(time.category("gemm"), 6, kExact);
  EXPECT_NEAR(time.category("copy"), 1, kExact);
  EXPECT_NEAR(time.idle_cause("host"), 3, kExact);
}

// Many short kernels with long gaps: what limits such a network is the host.
TEST(TraceSummary, ATinyNetworkIsHostBound) {
  Made made;
  made.add(kSteps, "step 0", "step", 0, 1);
  for (int i = 0; i < 100; ++i) made.kernel(kSteps, "dense", "gemm", 0.01 * i, 0.01 * i + 0.002);
  const TimeShares time = summarise(made.trace).all;
  EXPECT_NEAR(time.category("idle"), 0.8, 1e-9);
  EXPECT_NEAR(time.idle_cause("host"), 0.8, 1e-9);
  EXPECT_EQ(time.infeed_share(), 0);
}

TEST(TraceSummary, SeveralDevicesAreAveraged) {
  Made made;
  for (int device = 0; device < 2; ++device) {
    const Track track{"device", "steps", device};
    made.add(track, "step 0", "step", 0, 10);
    made.kernel(track, "dense", "gemm", 0, device == 0 ? 10 : 4);
  }
  const Summary summary = summarise(made.trace);
  EXPECT_EQ(summary.devices, 2);
  ASSERT_EQ(summary.steps.size(), 1u);
  EXPECT_NEAR(summary.all.seconds, 10, kExact);
  EXPECT_NEAR(summary.all.category("gemm"), 7, kExact);
  EXPECT_NEAR(summary.all.category("idle"), 3, kExact);
  EXPECT_EQ(summary.ops[0].count, 2);
}

// As PyTorch's profiler writes: the host in one process, streams of the GPU in another.
TEST(TraceSummary, ReadsPyTorchsProfiler) {
  std::istringstream file(R"json({"schemaVersion":1,"deviceProperties":[{"id":0}],"traceEvents":[
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":77,"tid":77,"ts":1000,"dur":100},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":1020,"dur":80},
    {"ph":"X","cat":"user_annotation","name":"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
     "pid":77,"tid":77,"ts":1000,"dur":20},
    {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":77,"tid":77,"ts":1022,"dur":8},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":77,"tid":77,"ts":1023,"dur":5},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":1020,"dur":10},
    {"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_tn","pid":0,"tid":7,"ts":1035,"dur":20,
     "args":{"stream":7}},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32","pid":0,"tid":20,"ts":1050,"dur":15},
    {"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, AddFunctor>",
     "pid":0,"tid":7,"ts":1070,"dur":10},
    {"ph":"X","cat":"kernel","name":"void at::native::multi_tensor_apply_kernel<Adam>",
     "pid":0,"tid":7,"ts":1080,"dur":5},
    {"ph":"f","cat":"ac2g","id":1,"pid":0,"tid":7,"ts":1035,"name":"ac2g","bp":"e"},
    {"name":"process_name","ph":"M","ts":1000,"pid":0,"tid":0,"args":{"name":"python"}}]})json");
  const Summary summary = summarise(read_chrome_json(file));
  EXPECT_EQ(summary.devices, 1);
  ASSERT_EQ(summary.steps.size(), 1u);
  const TimeShares& time = summary.all;
  const auto microseconds = [](double seconds) { return seconds * 1e6; };
  EXPECT_NEAR(microseconds(time.seconds), 100, 1e-6);
  EXPECT_NEAR(microseconds(sum(time.by_category)), 100, 1e-6);
  EXPECT_NEAR(microseconds(time.category("gemm")), 20, 1e-6);
  EXPECT_NEAR(microseconds(time.category("communication")), 10, 1e-6);  // 5 of 15 lie beside the product
  EXPECT_NEAR(microseconds(time.category("elementwise")), 10, 1e-6);
  EXPECT_NEAR(microseconds(time.category("optimizer")), 5, 1e-6);
  EXPECT_NEAR(microseconds(time.category("copy")), 10, 1e-6);
  EXPECT_NEAR(microseconds(time.category("idle")), 45, 1e-6);
  EXPECT_NEAR(microseconds(time.idle_cause("input")), 20, 1e-6);
  EXPECT_NEAR(microseconds(time.idle_cause("copy")), 10, 1e-6);
  EXPECT_NEAR(microseconds(time.idle_cause("host")), 25, 1e-6);
  EXPECT_NEAR(time.infeed_share(), 0.3, 1e-9);
}

// Without a GPU what computes are the operators, each for what it does itself.
TEST(TraceSummary, ReadsPyTorchsProfilerOfACpu) {
  std::istringstream file(R"([
    {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":7,"tid":7,"ts":0,"dur":10},
    {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":7,"tid":7,"ts":2,"dur":6},
    {"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":7,"ts":12,"dur":3},
    {"ph":"X","cat":"python_function","name":"train","pid":7,"tid":7,"ts":0,"dur":20}])");
  const Summary summary = summarise(read_chrome_json(file));
  EXPECT_EQ(summary.steps[0].name, "all");
  EXPECT_NEAR(summary.all.seconds * 1e6, 20, 1e-6);
  EXPECT_NEAR(summary.all.category("gemm") * 1e6, 10, 1e-6);
  EXPECT_NEAR(summary.all.category("elementwise") * 1e6, 3, 1e-6);
  EXPECT_NEAR(summary.all.category("idle") * 1e6, 7, 1e-6);
  ASSERT_EQ(summary.ops.size(), 3u);
  EXPECT_EQ(summary.ops[0].name, "aten::addmm");
  EXPECT_NEAR(summary.ops[1].seconds * 1e6, 4, 1e-6);  // linear, less what lies in it
}

TEST(TraceSummary, KernelsWithoutLengthAndNothingAtAll) {
  Made made;
  made.add(kSteps, "step 0", "step", 0, 1);
  made.kernel(kSteps, "reshape", "copy", 0.5, 0.5);
  const Summary summary = summarise(made.trace);
  EXPECT_EQ(summary.all.category("idle"), 1);
  EXPECT_EQ(summary.ops[0].count, 1);
  Made nothing;
  nothing.add(kSteps, "step 0", "step", 0, 1);
  EXPECT_THROW(summarise(nothing.trace), Error);
}

}  // namespace
}  // namespace trainyard::trace
