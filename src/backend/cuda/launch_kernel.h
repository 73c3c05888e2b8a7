#pragma once

#include <cuda_bf16.h>

#include "backend/cuda/context.h"
#include "base/error.h"

namespace trainyard::backend::cuda {

// What an own kernel's launcher sees.
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

// A kernel that is a function: it starts what device/ has.
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
// How an input lies now; its natural layout where that is still open.
Layout present_or_natural_layout(const KernelRequest& request, int input);
// Every input and output in its natural layout.
KernelIo natural_io(const graph::NodeView& node);

// Calls body.operator()<T>() with T = float or __nv_bfloat16.
template <typename Body>
void with_float_type(DType dtype, const Body& body) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::bf16);
  if (dtype == DType::f32) return body.template operator()<float>();
  body.template operator()<__nv_bfloat16>();
}

// For accept(): what every kernel here asks of its floats. "" when they are f32 or bf16.
Decision want_device_floats(const KernelRequest& request);
// The same of kernels that count elements in 32 bits.
Decision want_countable_elements(const KernelRequest& request);

}  // namespace trainyard::backend::cuda
