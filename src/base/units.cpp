#include "base/units.h"

namespace trainyard {
namespace {

// Three significant digits, the way tables in this field print them.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 100) return fmt::format("{:.0f}", value);
  if (magnitude >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string scaled(double value, double base, const std::array<const char*, 6>& prefixes, const char* unit) {
  std::size_t i = 0;
  while (std::fabs(value) >= base && i + 1 < prefixes.size()) {
    value /= base;
    ++i;
  }
  return fmt::format("{} {}{}", three_digits(value), prefixes[i], unit);
}

constexpr std::array<const char*, 6> kDecimal{"", "k", "M", "G", "T", "P"};

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi"}, "B");
}

std::string format_count(double count) {
  if (count < 1000) return fmt::format("{:.0f}", count);
  return scaled(count, 1000, kDecimal, "");
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{} us", three_digits(seconds * 1e6));
  if (seconds < 1) return fmt::format("{} ms", three_digits(seconds * 1e3));
  if (seconds < 120) return fmt::format("{} s", three_digits(seconds));
  if (seconds < 7200)
    return fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60));
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string format_flops(double flops) { return scaled(flops, 1000, kDecimal, "FLOP"); }

std::string format_rate(double per_second) { return format_flops(per_second) + "/s"; }

}  // namespace trainyard
