#include "backend/cuda/input_batch.h"

#include <limits>

#include "backend/cuda/device/input_batch.h"
#include "base/error.h"

namespace trainyard::backend::cuda {
namespace {

class InputBatchKernel final : public Kernel {
 public:
  InputBatchKernel(Context& context, const InputBatch& batch)
      : Kernel({.inputs = {Layout{}, Layout{}},
                .outputs = {Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        batch_(batch) {}
  void bind(const Binding& binding) override {
    memory_ = {.images = reinterpret_cast<const std::uint8_t*>(binding.inputs[0]),
               .labels = reinterpret_cast<const std::int32_t*>(binding.inputs[1]),
               .batch_images = reinterpret_cast<float*>(binding.outputs[0]),
               .batch_labels = reinterpret_cast<std::int32_t*>(binding.outputs[1]),
               .context = binding.context};
  }
  void run(const StepContext&) override { device::input_batch(context_.stream(), batch_, memory_); }

 private:
  Context& context_;
  InputBatch batch_;
  device::InputBatchMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_input_batch(Context& context, const InputBatch& batch) {
  TRAINYARD_CHECK(batch.batch > 0 && batch.workers > batch.worker && batch.worker >= 0);
  // The kernel counts within an image with 32 bits, and keeps its channels' sums in shared memory.
  constexpr std::int64_t kMostChannels = 2048;
  if (batch.channels > kMostChannels || batch.output_floats() > std::numeric_limits<std::int32_t>::max() ||
      batch.image_bytes() > std::numeric_limits<std::int32_t>::max())
    return nullptr;
  return std::make_unique<InputBatchKernel>(context, batch);
}

}  // namespace trainyard::backend::cuda
