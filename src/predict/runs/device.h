#pragma once

#include "predict/runs/model_container.h"

namespace trainyard::predict {

// DeviceKind tells what kernels run on a device; unknown where nobody said it.
enum class DeviceKind { unknown, cpu, gpu };

// DeviceSheet holds the figures that models of time and memory use, from a data sheet or measured by `probe`.
struct DeviceSheet {
  std::string name;
  double flops_per_second = 0;   // of f32 multiply-adds, two each
  double bytes_per_second = 0;   // of its memory
  double launch_seconds = 5e-6;  // the least that a kernel takes
  double memory_bytes = 0;
  double multiprocessors = 0;
  double watts = 0, price_per_hour = 0;  // 0: not known
  DeviceKind kind = DeviceKind::unknown;

  friend bool operator==(const DeviceSheet&, const DeviceSheet&) = default;
};

// Returns the devices with published measurements, and some more, by their data sheets.
const std::vector<DeviceSheet>& known_devices();

// Reads devices in YAML or JSON (docs/formats/cluster.md), or the one in the output of `probe --json`. Errors
// name file and line.
std::vector<DeviceSheet> read_devices(const std::filesystem::path& path);

// Returns how far two devices are apart, in doublings of their rates. Devices of different kinds are farther
// apart than any of one kind: by kOtherKind or more.
inline constexpr double kOtherKind = 100;
double doublings_between(const DeviceSheet& a, const DeviceSheet& b);

// Ignores the case of letters, spaces and dashes: "gtx-1080" is GTX1080. Throws Error (config) listing the
// known devices.
const DeviceSheet& find_device(const std::vector<DeviceSheet>& devices, std::string_view name);
bool same_device_name(std::string_view a, std::string_view b);

// Both convert a device in the header of a model to a JSON object, as text, and back. Error (config) names a
// member that is missing or out of bounds.
std::string device_to_json(const DeviceSheet& device);
DeviceSheet parse_device(const JsonMembers& members);

}  // namespace trainyard::predict
