#pragma once

#include <variant>

#include "base/standard.h"

namespace trainyard {
class Json;
}

namespace trainyard::record {

// Value is the type of an entry in a study file, an option on a command line or a fact about the machine.
using Value = std::variant<bool, std::int64_t, double, std::string>;

// Settings holds the settings of a run by name ("network", "batch", "threads", ...): one point of a study's
// matrix.
using Settings = std::map<std::string, Value>;

// Returns the shortest text that reads back as the same value: true, 50, 0.001, adam.
std::string to_text(const Value& value);

// Returns the narrowest type that fits the whole text: "50" an integer, "1e-3" a number, "true" a boolean,
// else text.
Value to_value(std::string_view text);

// Returns the number; a boolean or text gives `otherwise`.
double number_or(const Value& value, double otherwise);

// Formats "batch 50, threads 2" for people, with names in alphabetical order.
std::string to_text(const Settings& settings);

// Both convert to a JSON object and back. Error (config) when the text is none, or holds anything but plain
// values.
std::string to_json(const Settings& settings);
Settings settings_from_json(std::string_view text);

// Converts values to JSON; only the sources of this folder use it.
Json json_of(const Value& value);
Json json_of(const Settings& settings);
Json json_of(double number);  // whole numbers without a point; null when not finite
// Throws Error (config) for an object, an array or null.
Value value_of(const Json& json);
Settings settings_of(const Json& json);

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
