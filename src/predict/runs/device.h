#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "predict/runs/json_members.h"

namespace trainyard::predict {

// A device as a model of time and memory sees it: figures of its data sheet, or what `probe` measured.
struct Device {
  std::string name;
  double flops_per_second = 0;   // of f32 multiply-adds, two each
  double bytes_per_second = 0;   // of its memory
  double launch_seconds = 5e-6;  // the least that a kernel takes
  double memory_bytes = 0;
  double multiprocessors = 0;
  double watts = 0, price_per_hour = 0;  // 0: not known

  friend bool operator==(const Device&, const Device&) = default;
};

// Devices of which measurements were published, and some more, by their data sheets.
const std::vector<Device>& known_devices();

// Devices in YAML or JSON (docs/formats/cluster.md), or the one in what `probe --json` printed; errors name
// file and line.
std::vector<Device> read_devices(const std::filesystem::path& path);

// Whatever the case of letters, spaces and dashes: "gtx-1080" is GTX1080. Error (config) lists those there
// are.
const Device& find_device(const std::vector<Device>& devices, std::string_view name);
bool same_device_name(std::string_view a, std::string_view b);

// A device in the header of a model: a JSON object, as text, and back. Error (config) names what is missing
// or out of bounds.
std::string device_to_json(const Device& device);
Device parse_device(const JsonMembers& members);

}  // namespace trainyard::predict
