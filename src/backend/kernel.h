#pragma once

#include "backend/device.h"
#include "graph/op_def.h"
#include "tensor/layout.h"

namespace trainyard::backend {

// The effort that a backend spends on finding the fastest way to run an op. full: every way that its
// libraries offer, and the close ones in a long run. quick: the few that they put first, for sweeps whose
// points take seconds.
enum class Effort : std::uint8_t { full, quick };

constexpr const char* name(Effort effort) { return effort == Effort::full ? "full" : "quick"; }

// f32: every product in f32. tf32: tensors are f32, matrix units round what they multiply to 10 bits.
// bf16: activations, their gradients and the copies of weights that are multiplied are bf16; parameters,
// optimizer state, statistics and every sum are f32.
enum class Precision : std::uint8_t { f32, tf32, bf16 };

constexpr const char* name(Precision precision) {
  return precision == Precision::f32 ? "f32" : precision == Precision::tf32 ? "tf32" : "bf16";
}

// KernelIo holds the layouts and memory that a kernel needs from the planner; fixed when the kernel is made.
struct KernelIo {
  std::vector<Layout> inputs, outputs;
  std::size_t workspace_bytes = 0;
  // Output `first` may lie in the buffer of input `second`, when that input is not needed afterwards.
  std::vector<std::pair<int, int>> in_place;
};

// Every buffer begins on a multiple of 64 bytes and owns the bytes up to the next one; that tail holds zeros
// and must go on doing so.
struct Binding {
  std::vector<std::byte*> inputs, outputs;
  std::byte* workspace = nullptr;
  // Lies in device memory, where the device counts the step; null on the host, where run() passes the step.
  const StepContext* context = nullptr;
  bool late = false;  // runs beside what is urgent, and should leave room for it
};

// A way to run the same node that was tried and not chosen.
struct Alternative {
  std::string name, reason;
};

// A kernel is one node's computation with everything decided. It is made while planning, bound once, then run
// in every step.
class Kernel {
 public:
  explicit Kernel(KernelIo io) : io_(std::move(io)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const KernelIo& io() const { return io_; }
  // Called once, before the first run; the memory outlives the kernel.
  virtual void bind(const Binding& binding) = 0;
  // Runs the kernel, or puts it into the queue of the device. It allocates nothing. Queued work must read its
  // step from Binding::context, because it may be recorded and run again.
  virtual void run(const StepContext& context) = 0;
  // Returns what a kernel of a library chose by measuring: "engine 52, 12.3 us"; empty where there was
  // nothing to choose.
  virtual std::string choice() const { return ""; }
  virtual std::vector<Alternative> alternatives() const { return {}; }

 protected:
  KernelIo io_;
};

// KernelRequest is the information that the planner has when it asks for a kernel.
struct KernelRequest {
  graph::NodeView node;
  Device* device = nullptr;  // where it will run
  // The present layout of each input; empty where the kernel is the first user of a parameter and may choose.
  // A kernel may ask for another layout: the planner then reorders.
  std::vector<std::optional<Layout>> inputs;
  // The layout that the planner prefers for an output (the gradient of a parameter); empty where it has no
  // preference.
  std::vector<std::optional<Layout>> outputs;

  const Layout& input_or_plain(int i) const;
};

// Holds a yes, or the reason for a no.
struct Decision {
  std::string reason;
  bool accepted() const { return reason.empty(); }

  static Decision yes() { return {}; }
  static Decision no(std::string reason) { return {std::move(reason)}; }
};

// One way to run an op. `name` tells its origin: "onednn:conv2d", "own:max_pool".
struct Candidate {
  const graph::OpDef* op;
  const char* name;
  Decision (*accept)(const KernelRequest&);
  std::unique_ptr<Kernel> (*make)(const KernelRequest&);
};

// Arguments holds the arguments of a kernel that is written as a plain function.
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

// Gives every input and output the plain layout.
KernelIo plain_io(const graph::NodeView& node);

// KernelIo::in_place as the row of the op allows it, for the layouts of `io`.
std::vector<std::pair<int, int>> in_place_of_row(const graph::NodeView& node, const KernelIo& io);

}  // namespace trainyard::backend
