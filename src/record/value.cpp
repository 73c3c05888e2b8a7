#include "record/value.h"

#include <charconv>
#include <system_error>

#include "base/error.h"
#include "base/json.h"

namespace trainyard::record {

namespace {

template <typename T>
bool parses(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

struct ToText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;  // else it reads back whole
  }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string to_text(const Value& value) { return std::visit(ToText{}, value); }

Value to_value(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (std::int64_t integer = 0; parses(text, integer)) return integer;
  // "inf" and "nan" parse as numbers, but are words here.
  if (double number = 0; parses(text, number) && std::isfinite(number)) return number;
  return std::string(text);
}

double number_or(const Value& value, double otherwise) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return otherwise;
}

std::string to_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, to_text(value));
  return text;
}

Json json_of(double number) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (!std::isfinite(number)) return nullptr;
  if (number == std::floor(number) && std::abs(number) < kExactIntegers)
    return static_cast<std::int64_t>(number);
  return number;
}

Json json_of(const Value& value) {
  return std::visit([](const auto& content) { return Json(content); }, value);
}

Json json_of(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings) object[name] = json_of(value);
  return object;
}

Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  fail(ErrorKind::config, "settings: {} given, a number, a word or true/false expected", json_text(json));
}

Settings settings_of(const Json& json) {
  if (!json.is_object()) fail(ErrorKind::config, "settings: {} given, an object expected", json_text(json));
  Settings settings;
  for (const auto& [name, value] : json.items()) settings[name] = value_of(value);
  return settings;
}

std::string to_json(const Settings& settings) { return json_text(json_of(settings)); }

Settings settings_from_json(std::string_view text) {
  const Json json = parse_json_or_discard(text);
  if (json.is_discarded()) fail(ErrorKind::config, "settings: '{}' is not JSON", text);
  return settings_of(json);
}

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
