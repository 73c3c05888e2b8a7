#include "backend/cuda/sample_gather.h"

#include <limits>

#include "backend/cuda/device/sample_gather.h"
#include "base/error.h"

namespace trainyard::backend::cuda {
namespace {

class SampleGatherKernel final : public Kernel {
 public:
  SampleGatherKernel(Context& context, const SampleGather& gather, const InputRing& ring)
      : Kernel({.inputs = {Layout{}, Layout{}},
                .outputs = {Layout{}, Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        gather_(gather),
        ring_(ring) {}
  void bind(const Binding& binding) override {
    memory_ = {.ring = binding.inputs[0],
               .places = ring_.places,
               .place_bytes = ring_.place_bytes(),
               .labels_at = ring_.labels_at(),
               .samples = reinterpret_cast<const std::uint8_t*>(binding.inputs[1]),
               .images = reinterpret_cast<float*>(binding.outputs[0]),
               .labels = reinterpret_cast<std::int32_t*>(binding.outputs[1]),
               .begins = reinterpret_cast<std::int64_t*>(binding.outputs[2]),
               .begins_count = ring_.begins,
               .context = binding.context};
  }
  void run(const StepContext&) override { device::gather_samples(context_.stream(), gather_, memory_); }

 private:
  Context& context_;
  SampleGather gather_;
  InputRing ring_;
  device::SampleGatherMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_sample_gather(Context& context, const SampleGather& gather,
                                           const InputRing& ring) {
  TRAINYARD_CHECK(gather.batch > 0 && ring.places > 0 && ring.begins > 0);
  TRAINYARD_CHECK(gather.channels == 1 || gather.channels == 3);
  TRAINYARD_CHECK(ring.image_bytes == static_cast<std::size_t>(gather.batch) * sizeof(GatheredSample));
  // The kernel counts within a sample with 32 bits.
  TRAINYARD_CHECK(gather.sample_bytes() <= std::numeric_limits<std::int32_t>::max());
  return std::make_unique<SampleGatherKernel>(context, gather, ring);
}

}  // namespace trainyard::backend::cuda
