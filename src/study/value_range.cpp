#include "study/value_range.h"

#include <regex>

#include "base/error.h"

namespace trainyard::study {
namespace {

constexpr std::size_t kMostValues = 10'000;

}  // namespace

std::optional<std::vector<record::Value>> expand_range(const std::string& text) {
  static const std::regex kForm(R"(\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s+([x+])\s*(\d{1,18})\s*)");
  if (text.find("..") == std::string::npos) return std::nullopt;
  std::smatch parts;
  if (!std::regex_match(text, parts, kForm))
    fail(ErrorKind::config, "'{}': a range is written 16..16384 x2 or 1..9 +2", text);
  const std::int64_t first = std::stoll(parts[1]), last = std::stoll(parts[2]), by = std::stoll(parts[4]);
  const bool times = parts[3] == "x";
  if (times ? by < 2 || first < 1 : by < 1) fail(ErrorKind::config, "'{}': never gets to its end", text);
  if (last < first) fail(ErrorKind::config, "'{}': ends before it begins", text);
  std::vector<record::Value> values;
  for (std::int64_t value = first;;) {
    values.emplace_back(value);
    if (values.size() > kMostValues) fail(ErrorKind::config, "'{}': more than {} values", text, kMostValues);
    // Divided and subtracted rather than multiplied and added: nothing can overflow.
    if (times ? value > last / by : value > last - by) return values;
    value = times ? value * by : value + by;
  }
}

}  // namespace trainyard::study
