#pragma once

#include "backend/kernel.h"

namespace trainyard::backend {

// What a kernel written as a plain function sees.
struct Arguments {
  const graph::NodeView& node;
  const KernelIo& io;
  const Binding& memory;
  const StepContext& context;

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
};

using KernelFunction = void (*)(const Arguments&);

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(const graph::NodeView& node, KernelIo io, KernelFunction function)
      : Kernel(std::move(io)), node_(node), function_(function) {}
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext& context) override { function_({node_, io_, binding_, context}); }

 private:
  graph::NodeView node_;
  KernelFunction function_;
  Binding binding_;
};

// Every input and output in plain layout.
KernelIo plain_io(const graph::NodeView& node);

}  // namespace trainyard::backend
