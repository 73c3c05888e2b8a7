#include "backend/backend.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "backend/device.h"
#include "backend/kernel.h"
#include "base/nearest_name.h"
#include "tensor/tensor.h"

namespace trainyard::backend {

const Layout& KernelRequest::input_or_plain(int i) const {
  static const Layout plain;
  const auto& layout = inputs[static_cast<std::size_t>(i)];
  return layout ? *layout : plain;
}

KernelIo plain_io(const graph::NodeView& node) {
  KernelIo io;
  io.inputs.resize(static_cast<std::size_t>(node.inputs()));
  io.outputs.resize(static_cast<std::size_t>(node.outputs()));
  return io;
}

namespace {

std::unique_ptr<Backend> make_cpu_backend(std::string_view name) {
  if (name == "reference") return make_reference_backend();
  if (name == "null") return make_null_backend();
  auto backend = make_onednn_backend();
  if (backend != nullptr) return backend;
  if (name == "auto") return make_reference_backend();
  fail(ErrorKind::unsupported, "backend 'onednn': this build has none (install libdnnl-dev and build again)");
}

// "cuda" -> 0, "cuda:3" -> 3; -1: no such device.
int ordinal_of(std::string_view device) {
  if (device == "cuda") return 0;
  int ordinal = -1;
  constexpr std::string_view kPrefix = "cuda:";
  if (!device.starts_with(kPrefix)) return -1;
  const char* end = device.data() + device.size();
  const auto parsed = std::from_chars(device.data() + kPrefix.size(), end, ordinal);
  return parsed.ec == std::errc() && parsed.ptr == end ? ordinal : -1;
}

}  // namespace

void want_precision(std::string_view device, Precision precision) {
  if (device == "cpu" && precision != Precision::f32)
    fail(ErrorKind::unsupported, "precision {}: on the CPU there is f32 only (cuda has it)",
         backend::name(precision));
}

std::unique_ptr<Backend> make_backend(std::string_view name, std::string_view device, Precision precision,
                                      Effort tuning) {
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorKind::usage, "unknown backend '{}'{}: one of {}", name, did_you_mean(name, names),
         fmt::join(names, ", "));
  const bool on_cpu = device == "cpu";
  const int ordinal = on_cpu ? 0 : ordinal_of(device);
  if (ordinal < 0) fail(ErrorKind::usage, "unknown device '{}': cpu, cuda or cuda:NUMBER", device);
  if (name == "null") return make_null_backend();
  if (on_cpu != (name != "cuda") && name != "auto")
    fail(ErrorKind::usage, "backend '{}' does not run on device '{}'", name, device);
  if (on_cpu) {
    want_precision(device, precision);
    return make_cpu_backend(name);
  }
  auto backend = make_cuda_backend(ordinal, precision, tuning);
  if (backend == nullptr)
    fail(ErrorKind::unsupported,
         "device '{}': this build has no CUDA (build again where the toolkit, cuDNN and a GPU are)", device);
  return backend;
}

std::vector<std::string> backend_names() { return {"auto", "onednn", "cuda", "reference", "null"}; }

namespace {

DeviceMemory random_memory(const std::shared_ptr<Device>& device, const graph::TensorType& type,
                           const Layout& layout) {
  const auto elements = static_cast<std::size_t>(layout.elements(type.shape));
  DeviceMemory memory(device, align_up(elements * size_of(type.dtype)));
  device->fill_random(memory.data(), elements, type.dtype);
  return memory;
}

}  // namespace

double measure_seconds(Device& device, const std::function<void()>& launch, double hopeless_seconds) {
  launch();  // loads its code
  const double once = device.time(launch);
  if (once > hopeless_seconds) return once;
  constexpr double kWorthSeconds = 1e-3;
  const int launches = std::clamp(static_cast<int>(kWorthSeconds / std::max(once, 1e-6)), 1, 20);
  const auto several = [&] {
    for (int i = 0; i < launches; ++i) launch();
  };
  const std::unique_ptr<Recording> recording = device.record(several);
  const std::function<void()> start =
      recording != nullptr ? [&] { recording->launch(); } : std::function<void()>(several);
  start();
  std::vector<double> seconds;
  for (int i = 0; i < (once > 10e-3 ? 3 : 5); ++i) seconds.push_back(device.time(start));
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2] / launches;
}

double measure_kernel(const std::shared_ptr<Device>& device, const graph::NodeView& node, Kernel& kernel,
                      double hopeless_seconds) {
  std::vector<DeviceMemory> memory;
  Binding binding;
  for (int i = 0; i < node.inputs(); ++i) {
    memory.push_back(
        random_memory(device, node.input(i).type, kernel.io().inputs[static_cast<std::size_t>(i)]));
    binding.inputs.push_back(memory.back().data());
  }
  for (int o = 0; o < node.outputs(); ++o) {
    memory.push_back(
        random_memory(device, node.output(o).type, kernel.io().outputs[static_cast<std::size_t>(o)]));
    binding.outputs.push_back(memory.back().data());
  }
  memory.emplace_back(device, align_up(kernel.io().workspace_bytes));
  binding.workspace = memory.back().data();
  memory.emplace_back(device, align_up(sizeof(StepContext)));
  binding.context = reinterpret_cast<const StepContext*>(memory.back().data());
  kernel.bind(binding);
  const double seconds = measure_seconds(
      *device, [&] { kernel.run({}); }, hopeless_seconds);
  device->wait();
  return seconds;
}

}  // namespace trainyard::backend
