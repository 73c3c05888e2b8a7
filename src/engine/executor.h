#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/region_memory.h"
#include "plan/step_plan.h"
#include "tensor/host_tensor.h"

namespace trainyard::engine {

// Runs a compiled step. Owns the memory of its regions, except those it borrows: an evaluation plan works on
// the parameters and statistics of a training plan, which must outlive it. Not thread-safe.
class Executor {
 public:
  using Regions = std::array<std::byte*, plan::kRegions>;

  explicit Executor(plan::CompiledStep step, const Regions& borrowed = {});

  // One step; allocates nothing itself.
  void run(const backend::StepContext& context);
  // A step in two parts, so that gradients can be exchanged between: all but the update, then the update,
  // which touches the arenas of parameters, gradients and optimizer state alone. REQUIRES: a training plan.
  void run_gradients(const backend::StepContext& context);
  void run_update(const backend::StepContext& context);
  // The same, adding each kernel's seconds to `kernel_seconds` (one entry per plan step).
  void run_timed(const backend::StepContext& context, std::vector<double>& kernel_seconds);

  const plan::StepPlan& plan() const { return step_.plan; }
  const graph::Graph& graph() const { return *step_.graph; }
  std::byte* region(plan::Region region) const { return regions_[static_cast<std::size_t>(region)]; }
  // A region as numbers; those of a training plan that outlive a step are all f32.
  std::span<float> floats(plan::Region region) const;
  std::byte* data(int buffer) const;

  // Inputs and outputs lie in plain layout; Error (internal) when the plan has no such value.
  template <typename T>
  std::span<T> host_view(const std::string& value_name) const {
    const plan::Buffer& buffer = persistent(value_name);
    TRAINYARD_CHECK(buffer.layout.is_plain() && DTypeOf<T>::value == buffer.type.dtype);
    return {reinterpret_cast<T*>(region(buffer.region) + buffer.offset),
            static_cast<std::size_t>(buffer.type.shape.elements())};
  }

  // Any persistent value in canonical (plain) order.
  HostTensor read(const std::string& value_name) const;
  void write(const std::string& value_name, const HostTensor& content);

 private:
  const plan::Buffer& persistent(const std::string& value_name) const;

  plan::CompiledStep step_;
  std::array<RegionMemory, plan::kRegions> owned_;
  Regions regions_{};
  std::size_t update_step_ = kNoUpdate;

  static constexpr std::size_t kNoUpdate = static_cast<std::size_t>(-1);
};

}  // namespace trainyard::engine
