#include "base/quantity.h"

#include <charconv>

namespace trainyard {

std::optional<double> number_with_unit(const std::string& given,
                                       const std::vector<std::pair<std::string, double>>& units,
                                       double least) {
  constexpr double kMost = 1e15;  // a petabyte; no conversion of it to an integer can overflow
  double number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  const std::string unit(end, given.data() + given.size());
  for (const auto& [name, factor] : units)
    if (error == std::errc() && unit == name && number * factor >= least && number * factor <= kMost)
      return number * factor;
  return std::nullopt;
}

std::optional<std::int64_t> parse_bytes(const std::string& given) {
  constexpr double kKiB = 1024, kKB = 1000;
  const auto found = number_with_unit(given,
                                      {{"", 1},
                                       {"KiB", kKiB},
                                       {"MiB", kKiB * kKiB},
                                       {"GiB", kKiB * kKiB * kKiB},
                                       {"KB", kKB},
                                       {"MB", kKB * kKB},
                                       {"GB", kKB * kKB * kKB}},
                                      1);
  if (!found) return std::nullopt;
  return static_cast<std::int64_t>(*found);
}

}  // namespace trainyard
