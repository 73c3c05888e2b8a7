#include "predict/runs/device.h"

#include <cctype>

#include "base/json.h"
#include "base/text.h"
#include "yaml/yaml_reader.h"

namespace trainyard::predict {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

}  // namespace

// The figures come from data sheets and white papers of the maker: f32 rate at the boost clock, memory
// bandwidth, board power.
const std::vector<DeviceSheet>& known_devices() {
  static const std::vector<DeviceSheet> devices = {
      {"GTX1080", 8.87e12, 320e9, 5e-6, 8 * kGiB, 20, 180, 0, DeviceKind::gpu},
      {"RTX2070", 7.46e12, 448e9, 5e-6, 8 * kGiB, 36, 175, 0, DeviceKind::gpu},
      {"TitanX", 10.97e12, 480e9, 5e-6, 12 * kGiB, 28, 250, 0, DeviceKind::gpu},
      {"T4", 8.1e12, 320e9, 5e-6, 16 * kGiB, 40, 70, 0, DeviceKind::gpu},
      {"V100", 15.7e12, 900e9, 5e-6, 16 * kGiB, 80, 300, 0, DeviceKind::gpu},
      {"A100", 19.5e12, 1555e9, 4e-6, 40 * kGiB, 108, 400, 0, DeviceKind::gpu},
      {"H100", 66.9e12, 3350e9, 3e-6, 80 * kGiB, 132, 700, 0, DeviceKind::gpu},
      {"H200", 66.9e12, 4800e9, 3e-6, 141e9, 132, 700, 0, DeviceKind::gpu},
  };
  return devices;
}

double doublings_between(const DeviceSheet& a, const DeviceSheet& b) {
  const double flops = std::log2(a.flops_per_second / b.flops_per_second),
               bytes = std::log2(a.bytes_per_second / b.bytes_per_second);
  const bool other_kind = a.kind != DeviceKind::unknown && b.kind != DeviceKind::unknown && a.kind != b.kind;
  return std::hypot(flops, bytes) + (other_kind ? kOtherKind : 0);
}

bool same_device_name(std::string_view a, std::string_view b) { return plain_name(a) == plain_name(b); }

const DeviceSheet& find_device(const std::vector<DeviceSheet>& devices, std::string_view name) {
  std::vector<std::string> names;
  for (const DeviceSheet& device : devices) {
    if (same_device_name(device.name, name)) return device;
    names.push_back(device.name);
  }
  fail(ErrorKind::config, "unknown device '{}'{}; known are {}", name, did_you_mean(name, names),
       joined(names, ", "));
}

namespace {

// The output of `probe --json` holds more than a device.
bool is_probe_report(const yaml::YamlReader& file) {
  const auto entries = file.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.key == "provenance"; });
}

// Sets the figures that a mapping names; the device keeps the others.
void set_figures(DeviceSheet& device, const yaml::YamlReader& at) {
  const std::vector<std::pair<const char*, double DeviceSheet::*>> keys = {
      {"flops_per_second", &DeviceSheet::flops_per_second},
      {"bytes_per_second", &DeviceSheet::bytes_per_second},
      {"launch_seconds", &DeviceSheet::launch_seconds},
      {"multiprocessors", &DeviceSheet::multiprocessors},
      {"watts", &DeviceSheet::watts},
      {"price_per_hour", &DeviceSheet::price_per_hour}};
  for (const auto& [key, at_key, value] : at.entries()) {
    if (key == "probe") continue;
    if (key == "kind") {
      device.kind = value.one_of({"cpu", "gpu"}) == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
      continue;
    }
    if (key == "memory") {
      device.memory_bytes = static_cast<double>(value.bytes());
      continue;
    }
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&key = key](const auto& row) { return row.first == key; });
    if (found == keys.end())
      at_key.complain(
          fmt::format("device '{}': no figure '{}'; those are flops_per_second, bytes_per_second, "
                      "launch_seconds, memory, multiprocessors, watts, price_per_hour and kind",
                      device.name, key));
    device.*found->second = value.number(record::NumberRange::above(0));
  }
  if (device.flops_per_second == 0 || device.bytes_per_second == 0 || device.memory_bytes == 0 ||
      device.multiprocessors == 0)
    at.complain(fmt::format(
        "device '{}' wants flops_per_second, bytes_per_second, memory and multiprocessors, or probe",
        device.name));
}

void set_probed_figures(DeviceSheet& device, const yaml::YamlReader& at, const std::filesystem::path& path) {
  const yaml::YamlReader report = yaml::YamlReader::read(path);
  bool found = false;
  for (const auto& [key, at_key, value] : report.entries()) {
    if (key != "devices" || !is_probe_report(report)) continue;
    for (const auto& [model, at_model, figures] : value.entries()) set_figures(device, figures), found = true;
  }
  if (!found)
    at.complain(fmt::format("'{}' holds no device that `trainyard probe {}` measured", path.string(),
                            Setting{"json"}));
}

DeviceSheet read_device(const std::string& name, const yaml::YamlReader& at,
                        const std::filesystem::path& folder) {
  DeviceSheet device{.name = name};
  for (const auto& [key, at_key, value] : at.entries())
    if (key == "probe") set_probed_figures(device, value, folder / value.text());
  set_figures(device, at);
  return device;
}

}  // namespace

std::vector<DeviceSheet> read_devices(const std::filesystem::path& path) {
  const yaml::YamlReader file = yaml::YamlReader::read(path);
  const bool probed = is_probe_report(file);
  std::vector<DeviceSheet> devices;
  for (const auto& [key, at_key, value] : file.entries()) {
    if (key == "devices")
      for (const auto& [name, at_name, one] : value.entries())
        devices.push_back(read_device(name, one, path.parent_path()));
    else if (key != "slots" && key != "preemption" && !probed)  // these are of a cluster
      at_key.complain(
          fmt::format("no key '{}' here; a file of devices has 'devices', a cluster 'slots' too", key));
  }
  if (probed && devices.empty())
    file.complain(fmt::format("no device here; `probe {}` measures none", Setting{"machine"}));
  return devices;
}

std::string device_to_json(const DeviceSheet& device) {
  Json json{{"name", device.name},
            {"flops_per_second", device.flops_per_second},
            {"bytes_per_second", device.bytes_per_second},
            {"launch_seconds", device.launch_seconds},
            {"memory_bytes", device.memory_bytes},
            {"multiprocessors", device.multiprocessors},
            {"watts", device.watts},
            {"price_per_hour", device.price_per_hour}};
  if (device.kind != DeviceKind::unknown) json["kind"] = device.kind == DeviceKind::cpu ? "cpu" : "gpu";
  return json_text(json);
}

DeviceSheet parse_device(const JsonMembers& members) {
  constexpr double kMost = 1e30;
  DeviceSheet device{.name = members.text("name"),
                     .flops_per_second = members.number("flops_per_second", 1, kMost),
                     .bytes_per_second = members.number("bytes_per_second", 1, kMost),
                     .launch_seconds = members.number("launch_seconds", 1e-30, 1),
                     .memory_bytes = members.number("memory_bytes", 1, kMost),
                     .multiprocessors = members.number("multiprocessors", 1, 1e6),
                     .watts = members.number("watts", 0, kMost),
                     .price_per_hour = members.number("price_per_hour", 0, kMost)};
  if (!members.has("kind")) return device;
  const std::string kind = members.text("kind");
  if (kind != "cpu" && kind != "gpu") members.refuse("kind", "cpu or gpu");
  device.kind = kind == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
  return device;
}

}  // namespace trainyard::predict
