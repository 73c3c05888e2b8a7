#include "predict/device.h"

#include <cctype>

#include "base/error.h"

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

// Data sheets and white papers of the maker: f32 rate at the boost clock, memory bandwidth, board power.
const std::vector<Device>& known_devices() {
  static const std::vector<Device> devices = {
      {"GTX1080", 8.87e12, 320e9, 5e-6, 8 * kGiB, 20, 180, 0},
      {"RTX2070", 7.46e12, 448e9, 5e-6, 8 * kGiB, 36, 175, 0},
      {"TitanX", 10.97e12, 480e9, 5e-6, 12 * kGiB, 28, 250, 0},
      {"T4", 8.1e12, 320e9, 5e-6, 16 * kGiB, 40, 70, 0},
      {"V100", 15.7e12, 900e9, 5e-6, 16 * kGiB, 80, 300, 0},
      {"A100", 19.5e12, 1555e9, 4e-6, 40 * kGiB, 108, 400, 0},
      {"H100", 66.9e12, 3350e9, 3e-6, 80 * kGiB, 132, 700, 0},
      {"H200", 66.9e12, 4800e9, 3e-6, 141e9, 132, 700, 0},
  };
  return devices;
}

bool same_device_name(std::string_view a, std::string_view b) { return plain_name(a) == plain_name(b); }

const Device& find_device(const std::vector<Device>& devices, std::string_view name) {
  std::string names;
  for (const Device& device : devices) {
    if (same_device_name(device.name, name)) return device;
    names += (names.empty() ? "" : ", ") + device.name;
  }
  fail(ErrorKind::config, "unknown device '{}'; known are {}", name, names);
}

}  // namespace trainyard::predict
