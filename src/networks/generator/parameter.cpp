#include "networks/generator/parameter.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::networks::generator {

namespace {

// Parses "3,4,6,3"; returns nothing when any part is not a whole number, or does not fit.
std::optional<std::vector<std::int64_t>> read_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::int64_t number = 0;
    const char* end = text.data() + comma;
    const auto read = std::from_chars(text.data() + at, end, number);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    numbers.push_back(number);
    at = comma + 1;
  }
  return numbers;
}

[[noreturn]] void refuse(std::string_view network, const Parameter& parameter, const std::string& value) {
  fail(ErrorKind::usage, "{} {}{}: network '{}' takes {}", Setting{parameter.name}, value,
       did_you_mean(value, parameter.choices), network, parameter.allowed());
}

std::vector<std::int64_t> checked_numbers(std::string_view network, const Parameter& parameter,
                                          const std::string& value) {
  auto numbers = read_numbers(value);
  const auto wanted = static_cast<std::size_t>(parameter.numbers);
  if (!numbers || (numbers->size() != 1 && numbers->size() != wanted)) refuse(network, parameter, value);
  for (const std::int64_t number : *numbers)
    if (number < parameter.smallest || number > parameter.largest) refuse(network, parameter, value);
  if (numbers->size() < wanted) numbers->resize(wanted, numbers->front());
  return *numbers;
}

double checked_fraction(std::string_view network, const Parameter& parameter, const std::string& value) {
  double number = 0;
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || !(number >= static_cast<double>(parameter.smallest)) ||
      !(number <= static_cast<double>(parameter.largest)))
    refuse(network, parameter, value);
  return number;
}

}  // namespace

std::string Parameter::allowed() const {
  if (is_word()) return joined(choices, " or ");
  if (is_fraction) return fmt::format("a number from {} to {}", smallest, largest);
  if (numbers == 1) return fmt::format("a whole number from {} to {}", smallest, largest);
  return fmt::format("one whole number or {} with commas, each from {} to {}", numbers, smallest, largest);
}

Parameters::Parameters(std::string_view network, const std::vector<Parameter>& table, const Given& given) {
  for (const auto& [name, value] : given)
    if (std::none_of(table.begin(), table.end(),
                     [&name = name](const Parameter& one) { return one.name == name; })) {
      std::string names;
      for (const Parameter& one : table)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", Setting{one.name});
      fail(ErrorKind::usage, "{} {}: network '{}' {}", Setting{name}, value, network,
           names.empty() ? "has sizes of its own" : "has no such parameter, but " + names);
    }
  for (const Parameter& parameter : table) {
    const auto found = given.find(parameter.name);
    const std::string& value = found == given.end() ? parameter.fallback : found->second;
    if (parameter.is_fraction)
      fractions_[parameter.name] = checked_fraction(network, parameter, value);
    else if (!parameter.is_word())
      numbers_[parameter.name] = checked_numbers(network, parameter, value);
    else if (std::find(parameter.choices.begin(), parameter.choices.end(), value) == parameter.choices.end())
      refuse(network, parameter, value);
    values_.emplace_back(parameter.name, value);
  }
}

std::int64_t Parameters::number(std::string_view name) const { return numbers(name).front(); }

std::vector<std::int64_t> Parameters::numbers(std::string_view name) const {
  const auto found = numbers_.find(name);
  TRAINYARD_CHECK(found != numbers_.end());
  return found->second;
}

double Parameters::fraction(std::string_view name) const {
  const auto found = fractions_.find(name);
  TRAINYARD_CHECK(found != fractions_.end());
  return found->second;
}

const std::string& Parameters::word(std::string_view name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
  TRAINYARD_CHECK(found != values_.end());
  return found->second;
}

}  // namespace trainyard::networks::generator
