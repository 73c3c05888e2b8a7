#include <algorithm>

#include <fmt/format.h>

#include "predict/device.h"
#include "study/yaml_reader.h"

namespace trainyard::predict {
namespace {

// What `probe --json` prints holds more than a device.
bool is_probe_report(const study::YamlReader& file) {
  const auto entries = file.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.key == "provenance"; });
}

// Those of a mapping; the device keeps what it does not name.
void set_figures(Device& device, const study::YamlReader& at) {
  const std::vector<std::pair<const char*, double Device::*>> keys = {
      {"flops_per_second", &Device::flops_per_second},
      {"bytes_per_second", &Device::bytes_per_second},
      {"launch_seconds", &Device::launch_seconds},
      {"multiprocessors", &Device::multiprocessors},
      {"watts", &Device::watts},
      {"price_per_hour", &Device::price_per_hour}};
  for (const auto& [key, at_key, value] : at.entries()) {
    if (key == "probe") continue;
    if (key == "memory") {
      device.memory_bytes = static_cast<double>(value.bytes());
      continue;
    }
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&key = key](const auto& row) { return row.first == key; });
    if (found == keys.end())
      at_key.complain(
          fmt::format("device '{}': no figure '{}'; those are flops_per_second, bytes_per_second, "
                      "launch_seconds, memory, multiprocessors, watts and price_per_hour",
                      device.name, key));
    device.*found->second = value.number(record::NumberRange::above(0));
  }
  if (device.flops_per_second == 0 || device.bytes_per_second == 0 || device.memory_bytes == 0 ||
      device.multiprocessors == 0)
    at.complain(fmt::format(
        "device '{}' wants flops_per_second, bytes_per_second, memory and multiprocessors, or probe",
        device.name));
}

void set_probed_figures(Device& device, const study::YamlReader& at, const std::filesystem::path& path) {
  const study::YamlReader report = study::YamlReader::read(path);
  bool found = false;
  for (const auto& [key, at_key, value] : report.entries()) {
    if (key != "devices" || !is_probe_report(report)) continue;
    for (const auto& [model, at_model, figures] : value.entries()) set_figures(device, figures), found = true;
  }
  if (!found)
    at.complain(fmt::format("'{}' holds no device that `trainyard probe --json` measured", path.string()));
}

Device read_device(const std::string& name, const study::YamlReader& at,
                   const std::filesystem::path& folder) {
  Device device{.name = name};
  for (const auto& [key, at_key, value] : at.entries())
    if (key == "probe") set_probed_figures(device, value, folder / value.text());
  set_figures(device, at);
  return device;
}

}  // namespace

std::vector<Device> read_devices(const std::filesystem::path& path) {
  const study::YamlReader file = study::YamlReader::read(path);
  const bool probed = is_probe_report(file);
  std::vector<Device> devices;
  for (const auto& [key, at_key, value] : file.entries()) {
    if (key == "devices")
      for (const auto& [name, at_name, one] : value.entries())
        devices.push_back(read_device(name, one, path.parent_path()));
    else if (key != "slots" && !probed)  // slots are of a cluster
      at_key.complain(
          fmt::format("no key '{}' here; a file of devices has 'devices', a cluster 'slots' too", key));
  }
  if (probed && devices.empty()) file.complain("no device here; `probe --machine` measures none");
  return devices;
}

}  // namespace trainyard::predict
