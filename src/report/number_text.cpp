#include "report/number_text.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>

namespace trainyard::report {
namespace {

// "-1234567" to "-1,234,567".
std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

}  // namespace

std::string number_text(double number) {
  if (!std::isfinite(number)) return "-";
  const double size = std::abs(number);
  if (size >= 1e15) return fmt::format("{:.3g}", number);
  if (size < 100) return size == 0 ? "0" : fmt::format("{:.3g}", number);
  if (size < 999.95) return fmt::format("{:.1f}", number);
  return grouped(fmt::format("{:.0f}", number));
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "-";
  return fmt::format("{:.{}f} %", share * 100, std::abs(share) < 0.1 ? 2 : 1);
}

std::string count_text(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(fmt::format("{}", count)), noun, count == 1 ? "" : "s");
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string time_text(double seconds_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

}  // namespace trainyard::report
