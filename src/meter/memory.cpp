#include "meter/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "meter/cgroup.h"

namespace trainyard::meter {
namespace {

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    std::int64_t kibibytes = 0;
    std::istringstream(line.substr(key.size())) >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

std::int64_t available_bytes(const SystemFiles& files) {
  const auto kibibytes = keyed_integer(files.text("/proc/meminfo").value_or(""), "MemAvailable");
  const CgroupLimits limits = read_cgroup_limits(files);
  std::int64_t bytes = kibibytes.value_or(0) * 1024;
  if (limits.memory_bytes) {
    const std::int64_t left =
        std::max<std::int64_t>(limits.memory_left_bytes.value_or(*limits.memory_bytes - resident_bytes()), 1);
    bytes = bytes == 0 ? left : std::min(bytes, left);
  }
  return bytes;
}

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

std::int64_t anonymous_bytes() { return status_bytes("RssAnon:"); }

}  // namespace trainyard::meter
