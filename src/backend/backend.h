#pragma once

#include "backend/input.h"
#include "backend/kernel.h"
#include "base/device_spec.h"

namespace trainyard::backend {

// GemmPeak is the best square matrix product measured for one type; rate 0: this machine has no kernel for
// it.
struct GemmPeak {
  std::string precision;
  std::int64_t size = 0;
  double flops_per_second = 0;
};

// DevicePeak is the best measured rate of something that a device does besides computing. The group names the
// unit.
struct DevicePeak {
  std::string group;  // "memory_bytes_per_second", "launch_seconds", "transfer_bytes_per_second"
  std::string name;
  double value = 0;
};

// A Backend is an ordered list of candidates per op: the first that accepts wins, or the fastest where the
// backend measures.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // Returns the device on which the kernels run and that holds their memory.
  virtual std::shared_ptr<Device> device() const { return host_device(); }
  // Lists the best candidate first. Candidates of several ops may be mixed; the order counts within one op.
  virtual const std::vector<Candidate>& candidates() const = 0;
  // Returns a copy into another layout. Never declines.
  virtual std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                               const Layout& to) const = 0;
  // Returns a kernel that makes the batch of each step of a data set in the device's memory: inputs images
  // (u8) and labels (i32) of all samples, outputs images (f32) and labels (i32) of the batch, all plain.
  // Null: the host makes the batches.
  virtual std::unique_ptr<Kernel> make_input_batch(const InputBatch&) const { return nullptr; }
  // Returns a kernel that takes the batch of each step from a ring: input the ring, outputs images, labels,
  // and the nanoseconds by the device's clock at which step i began (i64, at i % begins). Null: the device
  // has no copy queue.
  virtual std::unique_ptr<Kernel> make_input_ring(const InputRing&) const { return nullptr; }
  // Returns a kernel that makes the batch of each step of samples in the device's memory: inputs the ring
  // that says which, and the samples; outputs as make_input_ring()'s. Null: as there.
  virtual std::unique_ptr<Kernel> make_sample_gather(const SampleGather&, const InputRing&) const {
    return nullptr;
  }
  // Measures for about `seconds` per type; empty where the backend has no matrix product worth measuring.
  virtual std::vector<GemmPeak> gemm_peaks(const std::vector<std::string>&, double /*seconds*/) const {
    return {};
  }
  // Memory, kernel launches and transfers, about `seconds` for each; empty where the device is the host.
  virtual std::vector<DevicePeak> device_peaks(double /*seconds*/) const { return {}; }
  // Returns true where several accepting candidates of a node are timed against each other while planning.
  virtual bool measures() const { return false; }
  // Measured seconds of every candidate of `what`; empty: not known. They are kept from run to run, so that
  // every run makes the same choice.
  virtual std::vector<double> kept_seconds(const std::string& /*what*/) const { return {}; }
  virtual void keep_seconds(const std::string& /*what*/, const std::vector<double>&) const {}
  // Returns false for the null backend: its plans can be looked at but not run.
  virtual bool executes() const { return true; }
};

// Each is defined in its folder, or in that folder's absent.cpp, which returns nullptr.
std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_onednn_backend();
std::unique_ptr<Backend> make_null_backend();
// Error (unsupported) when the machine has no such GPU.
std::unique_ptr<Backend> make_cuda_backend(int ordinal, Precision precision, Effort tuning);

// Vector instructions that kernels of oneDNN may use, by the names of ONEDNN_MAX_CPU_ISA. A processor or a
// hypervisor may announce some that end the process: the best that really run were found by running them.
struct CpuIsa {
  std::string name;     // AVX512_CORE_BF16
  std::string refused;  // the best that the processor announces, where that is better: AVX512_CORE_AMX
  std::string reason;   // what became of a process that tried
};
// Absent until a backend of oneDNN was made in this process, and where the build has none.
std::optional<CpuIsa> found_cpu_isa();

// "reference", "onednn", "cuda", "null", or "auto": the fastest one this build has for the device.
// Error (usage, unsupported) says what does not go together.
std::unique_ptr<Backend> make_backend(std::string_view name, const DeviceSpec& device = {},
                                      Precision precision = Precision::f32, Effort tuning = Effort::full);
std::vector<std::string> backend_names();

// Error (unsupported) where no backend of the device has the precision.
void want_precision(const DeviceSpec& device, Precision precision);

inline constexpr double kNeverHopeless = std::numeric_limits<double>::infinity();

// Returns the seconds of one launch on the device: several are recorded and timed together, and the median is
// taken. A launch that takes longer than `hopeless_seconds` is timed only once.
double measure_seconds(Device& device, const std::function<void()>& launch,
                       double hopeless_seconds = kNeverHopeless);

// Returns the seconds after which a competitor of `best_seconds` is given up. The constant term allows for
// the latency of a single launch.
constexpr double hopeless_against(double best_seconds) { return 3 * best_seconds + 50e-6; }

// Returns the seconds of one launch of a kernel. This call binds the kernel to memory of random content and
// frees that memory at its end: the kernel may not be run afterwards. Error (device) when the memory is not
// there.
double measure_kernel(const std::shared_ptr<Device>& device, const graph::NodeView& node, Kernel& kernel,
                      double hopeless_seconds = kNeverHopeless);

}  // namespace trainyard::backend
