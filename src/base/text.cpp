#include "base/text.h"

#include <regex>

#include "base/error.h"

namespace trainyard {
namespace {

std::vector<std::string> groups_of(const std::smatch& found) { return {found.begin(), found.end()}; }

}  // namespace

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression) : compiled_(new Compiled{std::regex(expression)}) {}

Pattern::~Pattern() = default;

std::vector<std::string> Pattern::match(const std::string& text) const {
  std::smatch found;
  return std::regex_match(text, found, compiled_->regex) ? groups_of(found) : std::vector<std::string>();
}

std::vector<std::string> Pattern::find(const std::string& text) const {
  std::smatch found;
  return std::regex_search(text, found, compiled_->regex) ? groups_of(found) : std::vector<std::string>();
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view given, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, given.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    // A name that the given text begins is nearer than one with other letters.
    const bool begun = given.size() >= 3 && candidate.starts_with(given);
    const std::size_t distance = begun ? 1 : edit_distance(given, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(given, candidates);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

void want_one_of(std::string_view setting, const std::string& given,
                 const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  std::string list;
  for (const std::string& name : allowed) list += (list.empty() ? "" : ", ") + name;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", Setting{setting}, given, did_you_mean(given, allowed), list);
}

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
