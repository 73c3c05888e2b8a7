#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "plan/step_plan.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

using plan::Buffer;
using plan::Region;

train::SessionOptions options_for(const std::string& network, std::int64_t batch,
                                  const std::string& backend) {
  train::SessionOptions options;
  options.model = {.network = network, .batch = batch};
  options.update.rule = ops::Rule::adam;
  options.backend = backend;
  return options;
}

plan::CompiledStep compile(const std::string& network, std::int64_t batch, const std::string& backend) {
  return train::compile_step(options_for(network, batch, backend), *backend::make_backend(backend));
}

std::string range(const Buffer& b) {
  return fmt::format("'{}' [{}, {}) in steps {}..{}", b.name, b.offset, b.offset + b.bytes, b.first_step,
                     b.last_step);
}

// A kernel of step s may write `to` where it reads `from`, and only there may two living buffers meet.
bool declared_in_place(const plan::CompiledStep& compiled, int from, int to) {
  const int s = compiled.plan.buffers[static_cast<std::size_t>(to)].first_step;
  if (compiled.plan.buffers[static_cast<std::size_t>(from)].last_step != s) return false;
  const plan::Step& step = compiled.plan.steps[static_cast<std::size_t>(s)];
  for (const auto& [output, input] : compiled.kernels[static_cast<std::size_t>(s)]->io().in_place)
    if (step.outputs[static_cast<std::size_t>(output)] == to &&
        step.inputs[static_cast<std::size_t>(input)] == from)
      return true;
  return false;
}

class MemoryPlan : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    if (std::string(std::get<1>(GetParam())) == "onednn" && backend::make_onednn_backend() == nullptr)
      GTEST_SKIP() << "built without oneDNN";
  }
};

TEST_P(MemoryPlan, LivingBuffersNeverOverlap) {
  const auto& [network, backend] = GetParam();
  const plan::CompiledStep compiled = compile(network, 4, backend);
  const auto& buffers = compiled.plan.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = buffers[i];
    if (a.region != Region::slab) continue;
    ASSERT_LE(a.offset + a.bytes, compiled.plan.bytes(Region::slab)) << range(a);
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      const Buffer& b = buffers[j];
      if (b.region != Region::slab || a.last_step < b.first_step || b.last_step < a.first_step) continue;
      if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
      const auto first = static_cast<int>(i), second = static_cast<int>(j);
      ASSERT_TRUE(declared_in_place(compiled, first, second) || declared_in_place(compiled, second, first))
          << range(a) << " and " << range(b);
      ASSERT_EQ(a.offset, b.offset);
    }
  }
}

TEST_P(MemoryPlan, ArenasHaveNoGaps) {
  const auto& [network, backend] = GetParam();
  const plan::CompiledStep compiled = compile(network, 4, backend);
  for (std::size_t r = 0; r + 1 < plan::kRegions; ++r) {  // all but the slab
    std::vector<const Buffer*> inside;
    for (const Buffer& buffer : compiled.plan.buffers)
      if (buffer.region == static_cast<Region>(r)) inside.push_back(&buffer);
    std::sort(inside.begin(), inside.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    std::size_t end = 0;
    for (const Buffer* buffer : inside) {
      ASSERT_EQ(buffer->offset, end) << name(static_cast<Region>(r)) << ": " << range(*buffer);
      end += buffer->bytes;
    }
    EXPECT_EQ(end, compiled.plan.region_bytes[r]) << name(static_cast<Region>(r));
  }
}

TEST_P(MemoryPlan, IsTheSameEveryTime) {
  const auto& [network, backend] = GetParam();
  EXPECT_EQ(to_text(compile(network, 4, backend).plan), to_text(compile(network, 4, backend).plan));
}

TEST_P(MemoryPlan, GrowsWithTheBatch) {
  const auto& [network, backend] = GetParam();
  std::size_t before = 0;
  for (const std::int64_t batch : {1, 2, 8, 32}) {
    const std::size_t bytes = compile(network, batch, backend).plan.total_bytes();
    EXPECT_GT(bytes, before) << "batch " << batch;
    before = bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, MemoryPlan,
                         testing::Combine(testing::Values("lenet", "deepmnist", "cifarnet", "resnet20", "fc",
                                                          "googlenet", "mobilenet_v1"),
                                          testing::Values("reference", "onednn")),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param);
                         });

TEST(Evaluator, WorksOnTheLiveParameters) {
  train::SessionOptions options = options_for("lenet", 2, "auto");
  options.update.ema_decay = 0.5;
  train::Session session(options);
  const auto live = session.make_evaluator(3, false), shadow = session.make_evaluator(3, true);
  EXPECT_EQ(live->region(Region::parameters), session.executor().region(Region::parameters));
  EXPECT_NE(shadow->region(Region::parameters), session.executor().region(Region::parameters));
  const std::string name = "conv1/weight";
  const auto content = [](const engine::Executor& executor, const std::string& value) {
    const HostTensor tensor = executor.read(value);
    const auto span = tensor.as<float>();
    return std::vector<float>(span.begin(), span.end());
  };
  const std::vector<float> before = content(*live, name);
  EXPECT_EQ(before, content(session.executor(), name));
  EXPECT_EQ(before, content(*shadow, name)) << "the shadow starts as its parameter does";
  engine::initialise_inputs(session.executor(), 1);
  session.executor().run({1, 0});
  session.executor().run({1, 1});
  EXPECT_NE(content(*live, name), before);
  EXPECT_EQ(content(*live, name), content(session.executor(), name));
  EXPECT_EQ(content(*shadow, name), content(session.executor(), name + ":ema"));
}

}  // namespace
}  // namespace trainyard
