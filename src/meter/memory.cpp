#include "meter/memory.h"

#include <fstream>
#include <sstream>
#include <string>

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

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

}  // namespace trainyard::meter
