#pragma once

#include "predict/kernels/planned_step.h"
#include "predict/runs/model_container.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

// The memory of a run beside its plan is a sum of terms: bytes of each, times its count.
inline constexpr std::size_t kOverheadTerms = 5;
inline constexpr std::array<const char*, kOverheadTerms> kOverheadNames{"process", "convolution_library",
                                                                        "op", "shape", "recorded_kernel"};
using OverheadTerms = std::array<double, kOverheadTerms>;

// `step_seconds` decides how many steps a GPU records to be started at once; `certain` tells that they were
// measured.
OverheadTerms overhead_terms(const PlannedStep& step, bool on_host, double step_seconds, double steps,
                             bool certain);

// DeviceOverhead is the memory model of a device in one precision.
struct DeviceOverhead {
  std::string device;
  backend::Precision precision = backend::Precision::f32;
  std::string backend;
  int threads = 0;
  double runs = 0;
  OverheadTerms overhead{};       // bytes
  std::vector<NodeHabit> habits;  // of a backend that is not here
};

// KernelMemory predicts the peak memory of runs of our own engine: the allocation of their plans, and the
// overhead beside it.
class KernelMemory {
 public:
  KernelMemory() = default;
  explicit KernelMemory(std::vector<DeviceOverhead> devices);

  bool empty() const { return devices_.empty(); }
  const std::vector<DeviceOverhead>& devices() const { return devices_; }

  // Returns the index of the device and precision, or else of the most similar entry: one of the precision,
  // or the first. REQUIRES: !empty().
  std::size_t find(const std::string& device, backend::Precision precision) const;
  PlannedStep plan(const JobDescription& job, std::size_t device) const {
    return plan_step(job, planners_[device]);
  }
  // Returns the plan's need and the overhead beside it.
  MemoryNeed need(const PlannedStep& step, std::size_t device, double step_seconds, double steps) const;

 private:
  std::vector<DeviceOverhead> devices_;
  std::vector<Planner> planners_;
};

// Fits to those of the rows that hold their peak memory, and workspace also to those that only hold their
// plan. Returns an empty model when no row holds its peak.
KernelMemory fit_kernel_memory(const RunSet& set, const std::vector<std::size_t>& rows);

// Both write the part of a kernel model's file (docs/formats/prediction-model.md): a JSON object, as text,
// and a tensor.
std::string memory_to_json(const KernelMemory& memory);
inline constexpr const char* kHabitsTensor = "habits";
ModelTensor habits_tensor(const KernelMemory& memory);
KernelMemory parse_kernel_memory(const JsonMembers& members, const ModelContainer& container,
                                 const std::string& who);

}  // namespace trainyard::predict
