#include "base/device_spec.h"

#include <charconv>

#include "base/error.h"

namespace trainyard {
namespace {

constexpr std::string_view kCpu = "cpu", kCuda = "cuda";

}  // namespace

std::optional<DeviceSpec> DeviceSpec::find(std::string_view text) {
  if (text == kCpu) return cpu();
  if (text == kCuda) return cuda();
  if (!text.starts_with(kCuda) || text.size() < kCuda.size() + 2 || text[kCuda.size()] != ':')
    return std::nullopt;
  const std::string_view digits = text.substr(kCuda.size() + 1);
  int number = -1;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || number < 0) return std::nullopt;
  return cuda(number);
}

DeviceSpec DeviceSpec::parse(std::string_view text) {
  const std::optional<DeviceSpec> device = find(text);
  if (!device) fail(ErrorKind::usage, "unknown device '{}': cpu, cuda or cuda:NUMBER", text);
  return *device;
}

std::string DeviceSpec::to_string() const {
  if (is_cpu()) return std::string(kCpu);
  return number ? fmt::format("{}:{}", kCuda, *number) : std::string(kCuda);
}

}  // namespace trainyard
