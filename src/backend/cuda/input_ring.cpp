#include "backend/cuda/input_ring.h"

#include "backend/cuda/device/input_ring.h"
#include "base/error.h"

namespace trainyard::backend::cuda {
namespace {

// Buffers own the bytes up to the next multiple of 64, so whole words may be copied: their tail is zeros, as
// it is in the ring.
std::size_t words(std::size_t bytes) { return (bytes + sizeof(uint4) - 1) / sizeof(uint4); }

class InputRingKernel final : public Kernel {
 public:
  InputRingKernel(Context& context, const InputRing& ring)
      : Kernel({.inputs = {Layout{}},
                .outputs = {Layout{}, Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        ring_(ring) {}
  void bind(const Binding& binding) override {
    memory_ = {.ring = reinterpret_cast<const uint4*>(binding.inputs[0]),
               .places = ring_.places,
               .place_words = words(ring_.place_bytes()),
               .image_words = words(ring_.image_bytes),
               .labels_at = words(ring_.labels_at()),
               .label_words = words(ring_.label_bytes),
               .images = reinterpret_cast<uint4*>(binding.outputs[0]),
               .labels = reinterpret_cast<uint4*>(binding.outputs[1]),
               .begins = reinterpret_cast<std::int64_t*>(binding.outputs[2]),
               .begins_count = ring_.begins,
               .context = binding.context};
  }
  void run(const StepContext&) override { device::take_from_ring(context_.stream(), memory_); }

 private:
  Context& context_;
  InputRing ring_;
  device::InputRingMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_input_ring(Context& context, const InputRing& ring) {
  TRAINYARD_CHECK(ring.places > 0 && ring.begins > 0 && ring.image_bytes > 0 && ring.label_bytes > 0);
  return std::make_unique<InputRingKernel>(context, ring);
}

}  // namespace trainyard::backend::cuda
