#pragma once

#include "backend/device.h"
#include "engine/gradient_schedule.h"
#include "plan/step_plan.h"
#include "tensor/tensor.h"

namespace trainyard::engine {

// Runs a compiled step on its device. Owns the memory of its regions, except those it borrows: an evaluation
// plan works on the parameters and statistics of a training plan, which must outlive it. Not thread-safe.
//
// On the host a run is complete when run() returns. On another device it is only started: every reader of its
// memory waits for it.
class Executor {
 public:
  using Regions = std::array<std::byte*, plan::kRegions>;

  explicit Executor(plan::CompiledStep step, const Regions& borrowed = {});
  ~Executor();

  // One step; allocates nothing itself.
  void run(const backend::StepContext& context);
  // These two run a step in two parts, so that gradients can be exchanged between: all but the update, then
  // the update, which touches the arenas of parameters, gradients and optimizer state alone. REQUIRES: a
  // training plan. Where the plan adds up the gradients of micro-batches, their number is the step of the
  // first part.
  //
  // `ready` receives, between kernels and in this thread, each stretch of the gradients' region (in floats)
  // that has its final content: every element once. REQUIRES: on_host() where there is one, and a plan that
  // keeps its gradients.
  using Ready = std::function<void(std::int64_t first, std::int64_t elements)>;
  void run_gradients(const backend::StepContext& context, const Ready& ready = nullptr);
  void run_update(const backend::StepContext& context);
  // Runs one step, adding each kernel's seconds to `kernel_seconds` (one entry per plan step). Ends before a
  // kernel at which `stop` returns true. Returns how many kernels were timed.
  std::size_t run_timed(const backend::StepContext& context, std::vector<double>& kernel_seconds,
                        const std::function<bool()>& stop = nullptr);

  // The watch receives each kernel that runs from now on, by its number in the plan and now_seconds(); null
  // removes it. It must outlive the steps that it watches. REQUIRES: on_host().
  using Watch = std::function<void(std::size_t step, double began, double ended)>;
  void watch(const Watch* watch);
  // Runs one step, kernel by kernel without the host between them, and reports it to the watch. REQUIRES:
  // !on_host(). The watch is called when all kernels have ended; a step number of kPrologue is the kernel
  // that makes the inputs.
  void run_watched(const backend::StepContext& context, const Watch& watch);
  void prepare_watched(const backend::StepContext& context);  // what would else be part of the first of them
  static constexpr auto kPrologue = static_cast<std::size_t>(-1);

  // Runs steps that the device counts and repeats by itself, as far as it can: several per launch, without
  // work of the host between them. REQUIRES: !on_host().
  void run_steps(const backend::StepContext& first, std::int64_t count);
  static constexpr std::int64_t kStepsPerLaunch = 16;  // what is left over goes one by one
  // A caller should not start more steps at once than run this long, so that it can react in time.
  static constexpr double kSecondsAtOnce = 0.2;
  // Does the work that would otherwise be part of the first of these steps, so that they can be timed.
  void prepare_steps(const backend::StepContext& first, std::int64_t count);
  // Loss (the value named `loss`) and end of each of the last steps run so, oldest first; waits for them.
  // REQUIRES: count <= kMarks, and that many steps were run.
  static constexpr std::int64_t kMarks = 1 << 12;
  std::vector<backend::StepMark> marks(std::int64_t count);
  void mark_loss(const std::string& value_name);  // before the first run
  // Runs at the beginning of every step: makes the inputs where they are needed, of `kept`, which lives as
  // long as this. Binds it, with the context. Before the first run.
  void set_prologue(std::unique_ptr<backend::Kernel> kernel, backend::Binding binding,
                    std::vector<backend::DeviceMemory> kept);

  bool on_host() const { return step_.device->is_host(); }
  backend::Device& device() const { return *step_.device; }
  const plan::StepPlan& plan() const { return step_.plan; }
  const graph::Graph& graph() const { return *step_.graph; }
  std::byte* region(plan::Region region) const { return regions_[static_cast<std::size_t>(region)]; }
  // Returns a region as numbers; those of a training plan that outlive a step are all f32. REQUIRES:
  // on_host().
  std::span<float> floats(plan::Region region) const;
  std::byte* data(int buffer) const;
  std::byte* data(const plan::Buffer& buffer) const { return region(buffer.region) + buffer.offset; }

  // Inputs and outputs lie in plain layout; Error (internal) when the plan has no such value.
  // REQUIRES: on_host().
  template <typename T>
  std::span<T> host_view(const std::string& value_name) const {
    const plan::Buffer& buffer = persistent(value_name);
    TRAINYARD_CHECK(on_host() && buffer.layout.is_plain() && DTypeOf<T>::value == buffer.type.dtype);
    return {reinterpret_cast<T*>(data(buffer)), static_cast<std::size_t>(buffer.type.shape.elements())};
  }

  // Any persistent value in canonical (plain) order. What is written may have another shape of as many
  // elements: images for a network that takes them flat.
  HostTensor read(const std::string& value_name) const;
  void write(const std::string& value_name, const HostTensor& content);
  // The same into memory that is there already, bf16 also as f32. REQUIRES: a value in plain layout.
  void read_plain(const std::string& value_name, HostTensor& content) const;
  // When the backward pass of the last run_gradients() began, by now_seconds(). REQUIRES: on_host().
  double backward_began() const { return backward_began_; }
  // The caller calls this after it wrote parameters in another way, as by floats(): derived values are
  // computed anew.
  void parameters_changed() { stale_ = true; }

  // Passes the buffer's bytes, in its layout, to the caller, or a copy of them where the device is not the
  // host. edit() copies them back.
  void look(const plan::Buffer& buffer, const std::function<void(const std::byte*)>& see) const;
  void edit(const plan::Buffer& buffer, const std::function<void(std::byte*)>& change);
  // Replaces the content regardless of the former one: `make` writes all numbers. Where the device is not the
  // host it writes them into `staging`, which grows as needed and serves for many buffers.
  void make(const plan::Buffer& buffer, const std::function<void(std::byte*)>& make, AlignedBuffer& staging);
  void clear(const plan::Buffer& buffer);

 private:
  struct Counter;  // the step in device memory, and what the device notes of each

  const plan::Buffer& persistent(const std::string& value_name) const;
  void bind(std::size_t step);
  void run_kernel(std::size_t step, const backend::StepContext& context);
  bool prepares(std::size_t step) const;
  void prepare(const backend::StepContext& context);
  void enqueue_step(const backend::StepContext& context);
  void enqueue_lanes(const backend::StepContext& context, std::vector<int>& marks);
  void enqueue_steps(std::int64_t steps);
  void enqueue_gradients(const backend::StepContext& context, const Ready& ready);
  backend::Recording* recorded(std::int64_t steps);
  void launch(std::int64_t steps);
  void set_counter(const backend::StepContext& context);

  plan::CompiledStep step_;
  std::array<backend::DeviceMemory, plan::kRegions> owned_;
  GradientSchedule gradient_schedule_;
  Regions regions_{};
  bool has_update_ = false;
  double backward_began_ = 0;
  const Watch* watch_ = nullptr;
  bool stale_ = true;  // parameters were changed from outside
  std::vector<backend::DeviceMemory> prologue_memory_;
  std::unique_ptr<backend::Kernel> prologue_;
  std::unique_ptr<Counter> counter_;  // null on the host
};

}  // namespace trainyard::engine
