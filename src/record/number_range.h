#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "record/value.h"

namespace trainyard::record {

// The numbers that an option of a command, a setting of a study or a key of another YAML file may have. What
// is no number from its first character to its last, is not finite, or lies outside, all of them refuse in
// the same words.
class NumberRange {
 public:
  // Limits that only keep arithmetic from overflowing; who stays below never hears of them.
  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 50;
  static constexpr double kMostReal = 1e38;

  // An end counts unless its name says otherwise.
  static NumberRange whole(std::uint64_t least, std::uint64_t most = kMostWhole);
  static NumberRange real(double least, double most = kMostReal);
  static NumberRange above(double least, double most = kMostReal);
  static NumberRange below(double least, double most);    // from `least` to below `most`
  static NumberRange between(double least, double most);  // neither end

  bool is_whole() const { return whole_; }
  // The number in the one way in which all parsers understand it (no zeros in front); nothing where the range
  // has no such number.
  std::optional<std::string> read(std::string_view text) const;
  // A whole number is one of the reals, too; words and truth values are no numbers.
  bool contains(const Value& value) const;

  std::string describe() const;                         // "a whole number from 1 to 1000", "a number above 0"
  std::string brief() const;                            // "1..1000", ">0"; for --help
  std::string complaint(std::string_view given) const;  // "'0' given, a whole number of at least 1 expected"

 private:
  std::string describe(bool with_most) const;

  bool whole_ = true;
  std::uint64_t first_ = 0, last_ = kMostWhole;
  double least_ = 0, most_ = kMostReal;
  bool least_counts_ = true, most_counts_ = true;
};

// Of a setting, by its name in studies (the option's, with '_' for '-'). Null: it is no number, or a
// parameter of generated networks, whose tables say it.
const NumberRange* find_range(std::string_view setting);
// REQUIRES: there is one.
const NumberRange& range_of(std::string_view setting);

}  // namespace trainyard::record
