#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include "backend/cuda/runtime/check.h"
#include "backend/cuda/runtime/context.h"
#include "backend/device.h"
#include "base/error.h"

namespace trainyard::backend::cuda {

// Counts the blocks of a kernel that have finished (is_last_block() in launch.cuh). The kernel owns it,
// because other kernels overwrite the workspace between two runs.
class BlockCounter {
 public:
  // `count` of them side by side. The device outlives its kernels.
  explicit BlockCounter(Context& context, int count = 1)
      : memory_(std::shared_ptr<Device>(std::shared_ptr<Device>(), &context),
                static_cast<std::size_t>(count) * sizeof(std::uint32_t)) {
    context.wait();  // until it is zero, for whichever lane the kernel runs in
  }
  std::uint32_t* get() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }

 private:
  DeviceMemory memory_;
};

// Libraries want their workspace on more than the 64 bytes of our buffers: more is booked, then aligned.
inline constexpr std::size_t kWorkspaceAlignment = 256;

constexpr std::size_t with_slack(std::size_t bytes) { return bytes == 0 ? 0 : bytes + kWorkspaceAlignment; }

inline std::byte* aligned_workspace(std::byte* workspace) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return workspace + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
}

// Launch holds the arguments of the function that launches one of our own kernels.
struct Launch {
  const graph::NodeView& node;
  const KernelIo& io;
  const Binding& memory;
  Context& device;

  cudaStream_t stream() const { return device.stream(); }
  const StepContext* context() const { return memory.context; }  // in device memory
  template <typename T>
  const T* input(int i) const {
    return reinterpret_cast<const T*>(memory.inputs[static_cast<std::size_t>(i)]);
  }
  // Inputs that the op changes in place: running statistics, parameters, optimizer state.
  template <typename T>
  T* state(int i) const {
    return reinterpret_cast<T*>(memory.inputs[static_cast<std::size_t>(i)]);
  }
  template <typename T>
  T* output(int i) const {
    return reinterpret_cast<T*>(memory.outputs[static_cast<std::size_t>(i)]);
  }
  template <typename T>
  T* workspace() const {
    return reinterpret_cast<T*>(memory.workspace);
  }
};

using LaunchFunction = void (*)(const Launch&);

// Adapts a function to Kernel: the function launches device code.
class LaunchKernel final : public Kernel {
 public:
  LaunchKernel(const KernelRequest& request, KernelIo io, LaunchFunction function)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)), function_(function) {}
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override { function_({node_, io_, binding_, device_}); }

 private:
  graph::NodeView node_;
  Context& device_;
  LaunchFunction function_;
  Binding binding_;
};

// Images lie channels last, everything else plain.
Layout natural_layout(const Shape& shape);
// Returns the present layout of an input, or its natural layout where the layout is still open.
Layout present_or_natural_layout(const KernelRequest& request, int input);
// Gives every input and output its natural layout.
KernelIo natural_io(const graph::NodeView& node);
// Does the same for a kernel that writes over inputs where the row of its op allows it.
KernelIo in_place_io(const graph::NodeView& node);

// Calls body.operator()<T>() with T = float or __nv_bfloat16.
template <typename Body>
void with_float_type(DType dtype, const Body& body) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::bf16);
  if (dtype == DType::f32) return body.template operator()<float>();
  body.template operator()<__nv_bfloat16>();
}

// Says to accept() whether a kernel's floats are f32 or bf16, the condition of every kernel here.
Decision want_device_floats(const KernelRequest& request);
// Says to accept() whether 32 bits can count a kernel's elements.
Decision want_countable_elements(const KernelRequest& request);

}  // namespace trainyard::backend::cuda
