// Workers with unlike kernels mean the same numbers by the same places of an array.
#include "engine/canonical.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "tensor/tensor.h"
#include "train/session/session.h"

namespace trainyard::engine {
namespace {

using plan::Region;

// resnet20 has statistics, momentum with shadow weights two slots, and 3 and 10 channels give padding.
train::SessionOptions with_all_state(const std::string& backend, const std::string& network = "resnet20") {
  train::SessionOptions options;
  options.model = {.network = network, .batch = 2, .weight_decay = 1e-3};
  options.update.rule = ops::Rule::momentum;
  options.update.ema_decay = 0.9;
  options.backend = backend;
  options.keep_gradients = true;
  options.seed = 11;
  return options;
}

std::vector<float> gathered(const CanonicalArray& array) {
  std::vector<float> content(static_cast<std::size_t>(array.elements()));
  array.gather(content);
  return content;
}

std::vector<CanonicalArray> state_of(Executor& executor) {
  std::vector<CanonicalArray> arrays;
  arrays.push_back(CanonicalArray::parameters(executor));
  arrays.push_back(CanonicalArray::statistics(executor));
  for (const int slot : {0, 1}) arrays.push_back(CanonicalArray::slot(executor, slot));
  return arrays;
}

class Canonical : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "onednn" && backend::make_onednn_backend() == nullptr)
      GTEST_SKIP() << "built without oneDNN";
  }
};

TEST_P(Canonical, EqualsTheReferencesOfTheSameSeed) {
  train::Session session(with_all_state(GetParam())), reference(with_all_state("reference"));
  const auto arrays = state_of(session.executor()), wanted = state_of(reference.executor());
  for (std::size_t i = 0; i < arrays.size(); ++i) EXPECT_EQ(gathered(arrays[i]), gathered(wanted[i])) << i;
  EXPECT_EQ(arrays[0].elements(), session.parameters());
  EXPECT_GT(arrays[1].elements(), 0);
}

TEST_P(Canonical, GoesOutAndBackAndLeavesPaddingAlone) {
  train::Session session(with_all_state(GetParam()));
  Executor& executor = session.executor();
  for (CanonicalArray& array : state_of(executor)) {
    std::vector<float> numbers(static_cast<std::size_t>(array.elements()));
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    array.scatter(numbers);
    EXPECT_EQ(gathered(array), numbers);
  }
  // Tensors in their order, numbered through.
  float next = 1;
  for (const plan::Buffer* buffer : tensors_in(executor.plan(), Region::parameters)) {
    const HostTensor tensor = executor.read(buffer->name);
    for (const float number : tensor.as<float>()) ASSERT_EQ(number, next++) << buffer->name;
  }
  const auto floats = executor.floats(Region::parameters);
  EXPECT_EQ(std::count(floats.begin(), floats.end(), 0.0f),
            static_cast<std::ptrdiff_t>(floats.size()) - session.parameters());
}

TEST_P(Canonical, GradientsLeaveEarlyToo) {
  train::Session session(with_all_state(GetParam()));
  Executor& executor = session.executor();
  const CanonicalArray gradients = CanonicalArray::gradients(executor);
  ASSERT_EQ(gradients.elements(), session.parameters());
  std::vector<float> early(static_cast<std::size_t>(gradients.elements()), 7.0f), as_told = early;
  std::vector<int> told(early.size(), 0);
  int calls = 0;
  initialise_inputs(executor, 1);
  run_gradients(executor, {11, 0}, gradients, early, [&](std::int64_t first, std::int64_t elements) {
    ++calls;
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + elements); ++i) {
      as_told[i] = early[i];
      ++told[i];
    }
  });
  EXPECT_EQ(told, std::vector<int>(told.size(), 1));
  EXPECT_GT(calls, 10);
  EXPECT_EQ(as_told, gathered(gradients));

  train::Session reference(with_all_state("reference"));
  initialise_inputs(reference.executor(), 1);
  reference.executor().run_gradients({11, 0});
  const std::vector<float> want = gathered(CanonicalArray::gradients(reference.executor()));
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(early[i], want[i], 1e-3 * std::max(1.0f, std::abs(want[i]))) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Backends, Canonical, testing::Values("reference", "onednn"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CanonicalArray, IsNativeWherePlainTensorsFollowEachOther) {
  train::Session session(with_all_state("reference"));
  const CanonicalArray array = CanonicalArray::parameters(session.executor());
  ASSERT_TRUE(array.is_native());
  EXPECT_EQ(std::vector<float>(array.floats().begin(), array.floats().end()), gathered(array));
  // Nothing may be an array, too: lenet has no statistics.
  train::Session lenet(with_all_state("reference", "lenet"));
  EXPECT_TRUE(gathered(CanonicalArray::statistics(lenet.executor())).empty());
  // Twelve channels end amid a cache line.
  train::Session gaps(with_all_state("reference", "densenet40_k12"));
  EXPECT_FALSE(CanonicalArray::parameters(gaps.executor()).is_native());
  if (backend::make_onednn_backend() == nullptr) return;
  train::Session blocks(with_all_state("onednn"));
  EXPECT_FALSE(CanonicalArray::parameters(blocks.executor()).is_native());
}

// Memory that the caller may not touch, as far as the executor knows.
class OtherDevice final : public backend::Device {
 public:
  std::string name() const override { return "other"; }
  std::byte* allocate(std::size_t bytes) override { return backend::host_device()->allocate(bytes); }
  void release(std::byte* memory, std::size_t bytes) noexcept override {
    backend::host_device()->release(memory, bytes);
  }
  void write(std::byte* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void read(const std::byte* from, void* to, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override {}
  double time(const std::function<void()>& enqueue) override { return enqueue(), 0; }
};

class OnOtherDevice final : public backend::Backend {
 public:
  std::string name() const override { return "other"; }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  const std::vector<backend::Candidate>& candidates() const override { return reference_->candidates(); }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                                const Layout& to) const override {
    return reference_->make_reorder(type, from, to);
  }

 private:
  std::shared_ptr<backend::Device> device_ = std::make_shared<OtherDevice>();
  std::unique_ptr<backend::Backend> reference_ = backend::make_reference_backend();
};

TEST(CanonicalArray, IsTheSameOnAnotherDevice) {
  train::Session session(with_all_state("reference"));
  Executor &host = session.executor(), device(train::compile_step(with_all_state(""), OnOtherDevice()));
  auto arrays = state_of(device), wanted = state_of(host);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_FALSE(arrays[i].is_native());
    arrays[i].scatter(gathered(wanted[i]));
    EXPECT_EQ(gathered(arrays[i]), gathered(wanted[i])) << i;
  }
  for (Executor* executor : {&host, &device}) initialise_inputs(*executor, 1);
  host.run_gradients({11, 0});
  const CanonicalArray gradients = CanonicalArray::gradients(device);
  std::vector<float> got(static_cast<std::size_t>(gradients.elements()));
  std::vector<Stretch> told;
  run_gradients(device, {11, 0}, gradients, got, [&](std::int64_t first, std::int64_t elements) {
    told.push_back({first, elements});
  });
  EXPECT_EQ(told, std::vector<Stretch>({{0, gradients.elements()}}));
  EXPECT_EQ(got, gathered(CanonicalArray::gradients(host)));
}

// With bf16 activations, the gradients of weights are bf16 as well.
TEST(CanonicalArray, WidensRoundedGradients) {
  train::SessionOptions options = with_all_state("");
  options.model.weight_decay = 0;
  options.precision = backend::Precision::bf16;
  Executor executor(train::compile_step(options, *backend::make_reference_backend()));
  const CanonicalArray gradients = CanonicalArray::gradients(executor);
  EXPECT_FALSE(gradients.is_native());
  std::vector<float> want;
  for (const plan::Buffer* buffer : tensors_in(executor.plan(), Region::gradients))
    executor.edit(*buffer, [&](std::byte* memory) {
      for (std::int64_t i = 0; i < buffer->type.shape.elements(); ++i) {
        want.push_back(static_cast<float>(i % 251));
        if (buffer->type.dtype == DType::bf16)
          reinterpret_cast<BFloat16*>(memory)[i] = BFloat16(want.back());
        else
          reinterpret_cast<float*>(memory)[i] = want.back();
      }
    });
  EXPECT_EQ(gathered(gradients), want);
}

}  // namespace
}  // namespace trainyard::engine
