#include "backend/backend.h"

#include "base/text.h"

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

std::vector<std::pair<int, int>> in_place_of_row(const graph::NodeView& node, const KernelIo& io) {
  const graph::InPlace allowed = node.node().op->in_place;
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < node.inputs() && allowed != graph::InPlace::none; ++i) {
    if (allowed == graph::InPlace::first && i != 0) continue;
    if (allowed == graph::InPlace::second && i != 1) continue;
    const Layout &from = io.inputs[static_cast<std::size_t>(i)], &to = io.outputs[0];
    const graph::TensorType &src = node.input(i).type, &dst = node.output(0).type;
    // A reshaped tensor has its elements in the same order only where both sides are plain.
    const bool same_order = src.shape == dst.shape ? from == to : from.is_plain() && to.is_plain();
    if (same_order && src.dtype == dst.dtype) pairs.emplace_back(0, i);
  }
  return pairs;
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

}  // namespace

void want_precision(const DeviceSpec& device, Precision precision) {
  if (device.is_cpu() && precision != Precision::f32)
    fail(ErrorKind::unsupported, "precision {}: on the CPU there is f32 only (cuda has it)",
         backend::name(precision));
}

std::unique_ptr<Backend> make_backend(std::string_view name, const DeviceSpec& device, Precision precision,
                                      Effort tuning) {
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorKind::usage, "unknown backend '{}'{}: one of {}", name, did_you_mean(name, names),
         joined(names, ", "));
  if (name == "null") return make_null_backend();
  if (device.is_cpu() != (name != "cuda") && name != "auto")
    fail(ErrorKind::usage, "backend '{}' does not run on device '{}'", name, device.to_string());
  if (device.is_cpu()) {
    want_precision(device, precision);
    return make_cpu_backend(name);
  }
  auto backend = make_cuda_backend(device.gpu(), precision, tuning);
  if (backend == nullptr)
    fail(ErrorKind::unsupported,
         "device '{}': this build has no CUDA (build again where the toolkit, cuDNN and a GPU are)",
         device.to_string());
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
