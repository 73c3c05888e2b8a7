// Tests what the program requests of a GPU's memory, and that the memory is freed.
#include <cmath>

#include "backend/device.h"
#include "curve.h"
#include "engine/canonical.h"
#include "gpu.h"
#include "train/loop/step_taker.h"

namespace trainyard {
namespace {

class GpuMemory : public GpuTest {
 protected:
  static train::SessionOptions options(std::int64_t batch) {
    train::SessionOptions options;
    options.model = {.network = "deepmnist", .batch = batch};
    options.update.rule = ops::Rule::adam;
    options.device = DeviceSpec::cuda();
    return options;
  }
};

TEST_F(GpuMemory, DoesNotGrowOverTenThousandSteps) {
  const data::Dataset dataset = small_dataset({1, 28, 28});
  Curve curve(options(8), dataset);
  curve.run(0, 100);  // both recordings are made
  const std::size_t before = gpu_->device()->free_bytes();
  for (std::int64_t step = 100; step < 10'100; step += 1'000) curve.run(step, 1'000);
  EXPECT_GE(gpu_->device()->free_bytes(), before);
}

TEST_F(GpuMemory, ComesBackWithTheSession) {
  const data::Dataset dataset = small_dataset({1, 28, 28});
  const auto train = [&] { Curve(options(64), dataset).run(0, 20); };
  train();  // the libraries keep some of it
  const std::size_t before = gpu_->device()->free_bytes();
  for (int i = 0; i < 3; ++i) train();
  constexpr std::size_t kPage = std::size_t{2} << 20;  // what the driver gives out at once
  EXPECT_GE(gpu_->device()->free_bytes() + 16 * kPage, before);
}

void expect_refused(const train::SessionOptions& options, const std::string& asked) {
  try {
    train::Session session(options);
    ADD_FAILURE() << "there was memory for it";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::device) << message;
    EXPECT_EQ(message.find("cuda:0: out of memory: "), 0u) << message;
    EXPECT_NE(message.find(asked), std::string::npos) << message;
    EXPECT_NE(message.find(" free"), std::string::npos) << message;
  }
}

void expect_works(const train::SessionOptions& options) {
  train::Session session(options);
  engine::initialise_inputs(session.executor(), 1);
  EXPECT_TRUE(std::isfinite(train::DeviceSteps(session, 1).run(0, 20).losses.back()));
}

TEST_F(GpuMemory, WhatNeverFitsIsRefusedBeforeItIsPlannedAndTheNextRunWorks) {
  try {
    train::Session session(options(100'000'000));
    ADD_FAILURE() << "there was memory for it";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << message;
    EXPECT_NE(message.find("GiB of memory, cuda:0 has "), std::string::npos) << message;
  }
  expect_works(options(8));
}

TEST_F(GpuMemory, WhatOthersHoldIsNotThereAndTheNextRunWorks) {
  constexpr std::size_t kLeft = std::size_t{1} << 30;
  {
    const backend::DeviceMemory held(gpu_->device(), gpu_->device()->free_bytes() - kLeft);
    expect_refused(options(16'384), " asked");
    expect_works(options(8));
  }
  expect_works(options(16'384));
}

TEST_F(GpuMemory, AnAllocationThatFailsSaysWhatThereIs) {
  try {
    gpu_->device()->allocate(std::size_t{1} << 50);
    ADD_FAILURE() << "there was memory for it";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("cuda:0: out of memory: 1.00 PiB asked, "), 0u) << error.what();
  }
  backend::DeviceMemory memory(gpu_->device(), 1 << 20);
  EXPECT_NE(memory.data(), nullptr);
}

}  // namespace
}  // namespace trainyard
