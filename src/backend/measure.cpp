#include "backend/measure.h"

#include <algorithm>
#include <vector>

#include "backend/device_memory.h"
#include "tensor/host_tensor.h"

namespace trainyard::backend {
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
