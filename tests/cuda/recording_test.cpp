// Tests a recording's effect on memory: the fills in it, and the GPU memory that it takes.
#include <cstring>
#include <iterator>
#include <vector>

#include "backend/device.h"
#include "engine/canonical.h"
#include "gpu.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

using backend::StepContext;

class GpuRecording : public GpuTest {
 protected:
  // Fills in lane 0, each beside a kernel of lane 1, as side lanes of a training step have them.
  std::unique_ptr<backend::Recording> record_fills(std::byte* memory, StepContext* context,
                                                   const std::vector<std::pair<int, int>>& fills) {
    backend::Device& device = *gpu_->device();
    return device.record([&, context, memory] {
      for (const auto& [offset, bytes] : fills) {
        device.clear(memory + offset, static_cast<std::size_t>(bytes));
        const int filled = device.mark_lane();
        device.use_lane(1);
        device.wait_for_mark(filled);
        device.count_step(context);
        device.use_lane(0);
        device.count_step(context + 1);
      }
      device.join_lanes(device.lanes());
    });
  }
};

TEST_F(GpuRecording, FillsAnyStretchAndNothingBesideIt) {
  backend::Device& device = *gpu_->device();
  const std::vector<std::pair<int, int>> fills{{0, 4},     {17, 1},           {32, 16},      {51, 7},
                                               {64, 480},  {1000, 3},         {1024, 65536}, {70000, 9999},
                                               {90001, 4}, {1 << 20, 5 << 20}};
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  backend::DeviceMemory memory(gpu_->device(), kBytes), contexts(gpu_->device(), 2 * sizeof(StepContext));
  const auto recording = record_fills(memory.data(), reinterpret_cast<StepContext*>(contexts.data()), fills);
  for (int launch = 0; launch < 2; ++launch) {
    const std::vector<char> sevens(kBytes, 7);
    device.write(memory.data(), sevens.data(), kBytes);
    recording->launch();
    std::vector<char> want = sevens, got(kBytes);
    for (const auto& [offset, bytes] : fills)
      std::memset(want.data() + offset, 0, static_cast<std::size_t>(bytes));
    device.read(memory.data(), got.data(), kBytes);
    EXPECT_EQ(got, want);
  }
  StepContext counted[2];
  device.read(contexts.data(), counted, sizeof counted);
  for (const StepContext& one : counted) EXPECT_EQ(one.step, 2 * std::ssize(fills));
}

// cuDNN sums these gradients of weights behind memsets of 4 to 500 bytes. As the driver's own, beside other
// lanes, they made this recording one of 54 MB; it is one of 15.
TEST_F(GpuRecording, OfManySmallFillsTakesLittleOfTheGpu) {
  train::SessionOptions options;
  options.model = {.network = "resnet20", .batch = 256};
  options.precision = backend::Precision::bf16;
  options.device = DeviceSpec::cuda();
  train::Session session(options);
  engine::initialise_inputs(session.executor(), 1);
  session.executor().run_steps({.seed = 1}, 1);
  const std::size_t before = gpu_->device()->free_bytes();
  session.executor().prepare_steps({.seed = 1, .step = 1}, engine::Executor::kStepsPerLaunch);
  EXPECT_LT(before - gpu_->device()->free_bytes(), std::size_t{35} << 20);
}

}  // namespace
}  // namespace trainyard
