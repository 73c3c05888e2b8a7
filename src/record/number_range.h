#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "record/value.h"

namespace trainyard::record {

// NumberRange is the set of numbers that an option of a command, a setting of a study or a key of another
// YAML file may have. All of them refuse, in the same words, text that is not entirely a number, a number
// that is not finite, and one outside the range.
class NumberRange {
 public:
  // These limits only keep arithmetic from overflowing; users below them never see them.
  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 50;
  static constexpr double kMostReal = 1e38;

  // Both ends are included unless the name says otherwise.
  static NumberRange whole(std::uint64_t least, std::uint64_t most = kMostWhole);
  static NumberRange real(double least, double most = kMostReal);
  static NumberRange above(double least, double most = kMostReal);
  static NumberRange below(double least, double most);    // from `least` to below `most`
  static NumberRange between(double least, double most);  // neither end

  bool is_whole() const { return whole_; }
  // Returns the number in the one form that all parsers understand (no leading zeros); nothing where the
  // range has no such number.
  std::optional<std::string> read(std::string_view text) const;
  // A whole number is also a real one; words and truth values are no numbers.
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

}  // namespace trainyard::record
