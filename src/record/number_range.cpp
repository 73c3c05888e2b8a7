#include "record/number_range.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace trainyard::record {
namespace {

template <typename T>
std::optional<T> whole_text(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

NumberRange NumberRange::whole(std::uint64_t least, std::uint64_t most) {
  NumberRange range;
  range.first_ = least;
  range.last_ = most;
  return range;
}

NumberRange NumberRange::real(double least, double most) {
  NumberRange range;
  range.whole_ = false;
  range.least_ = least;
  range.most_ = most;
  return range;
}

NumberRange NumberRange::above(double least, double most) {
  NumberRange range = real(least, most);
  range.least_counts_ = false;
  return range;
}

NumberRange NumberRange::below(double least, double most) {
  NumberRange range = real(least, most);
  range.most_counts_ = false;
  return range;
}

NumberRange NumberRange::between(double least, double most) {
  NumberRange range = above(least, most);
  range.most_counts_ = false;
  return range;
}

std::optional<std::string> NumberRange::read(std::string_view text) const {
  if (whole_) {
    const auto number = whole_text<std::uint64_t>(text);
    if (!number || *number < first_ || *number > last_) return std::nullopt;
    return fmt::format("{}", *number);
  }
  const auto number = whole_text<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  const bool enough = least_counts_ ? *number >= least_ : *number > least_;
  const bool not_too_much = most_counts_ ? *number <= most_ : *number < most_;
  if (!enough || !not_too_much) return std::nullopt;
  return fmt::format("{}", *number);
}

bool NumberRange::contains(const Value& value) const {
  const bool number =
      std::holds_alternative<std::int64_t>(value) || (!whole_ && std::holds_alternative<double>(value));
  return number && read(to_text(value)).has_value();
}

std::string NumberRange::describe() const {
  return describe(whole_ ? last_ < kMostWhole : most_ < kMostReal);
}

std::string NumberRange::describe(bool with_most) const {
  if (whole_)
    return with_most ? fmt::format("a whole number from {} to {}", first_, last_)
                     : fmt::format("a whole number of at least {}", first_);
  if (!with_most) return fmt::format("a number {} {:g}", least_counts_ ? "of at least" : "above", least_);
  return fmt::format(
      "a number {} {:g} {} {:g}", least_counts_ ? "from" : "above", least_,
      most_counts_ ? (least_counts_ ? "to" : "and at most") : (least_counts_ ? "to below" : "and below"),
      most_);
}

std::string NumberRange::brief() const {
  if (whole_) return last_ >= kMostWhole ? fmt::format(">={}", first_) : fmt::format("{}..{}", first_, last_);
  if (most_ >= kMostReal) return fmt::format("{}{:g}", least_counts_ ? ">=" : ">", least_);
  return fmt::format("{}{:g}..{}{:g}", least_counts_ ? "" : ">", least_, most_counts_ ? "" : "<", most_);
}

std::string NumberRange::complaint(std::string_view given) const {
  const auto number = whole_text<double>(given);
  const bool too_much = number && *number > (whole_ ? static_cast<double>(last_) : most_);
  return fmt::format("'{}' given, {} expected", given, too_much ? describe(true) : describe());
}

}  // namespace trainyard::record
