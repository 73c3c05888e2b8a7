#include "record/settings.h"

#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::record {
namespace {

using Form = SettingInfo::Form;

unsigned bit_of(std::string_view command) {
  if (command == "bench") return SettingInfo::kBench;
  if (command == "train") return SettingInfo::kTrain;
  if (command == "explain") return SettingInfo::kExplain;
  if (command == "ensemble") return SettingInfo::kEnsemble;
  return 0;
}

bool are_counts(const std::string& text) {
  return !text.empty() && text.front() != ',' && text.back() != ',' && text.find(",,") == std::string::npos &&
         text.find_first_not_of("0123456789,") == std::string::npos;
}

// "ssp:N" stands for ssp: and a whole number, "folder:PATH" for folder: and any text.
bool stands_for(std::string_view choice, std::string_view word) {
  const std::size_t colon = choice.find(':');
  if (colon == std::string_view::npos || !std::isupper(static_cast<unsigned char>(choice.back())))
    return choice == word;
  if (!word.starts_with(choice.substr(0, colon + 1)) || word.size() == colon + 1) return false;
  return choice.substr(colon) != ":N" ||
         word.substr(colon + 1).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string expected_form(const SettingInfo& setting) {
  switch (setting.form) {
    case Form::word:
    case Form::output:
    case Form::choice:
      return "a word";
    case Form::count:
      return "a whole number of at least 1";
    case Form::counts:
      return "whole numbers with commas";
    case Form::number:
      return "a number";
    case Form::truth:
      return "true or false";
  }
  return "";
}

bool has_form(const SettingInfo& setting, const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  switch (setting.form) {
    case Form::word:
    case Form::output:
    case Form::choice:
      return !to_text(value).empty();
    case Form::count:
      return whole != nullptr && *whole >= 1;
    case Form::counts:
      return are_counts(to_text(value));
    case Form::number:
      return whole != nullptr || std::holds_alternative<double>(value);
    case Form::truth:
      return std::holds_alternative<bool>(value);
  }
  return false;
}

}  // namespace

std::string SettingInfo::option() const {
  if (name == "ensemble") return "--file";  // its place needs no name
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool takes(std::string_view command, const SettingInfo& setting) {
  return setting.is_resource() || (setting.commands & bit_of(command)) != 0;
}

const SettingInfo* find_setting(std::string_view name, std::string_view command) {
  for (const SettingInfo& setting : all_settings())
    if (setting.name == name && takes(command, setting)) return &setting;
  return nullptr;
}

const SettingInfo& setting_of(std::string_view name, std::string_view command) {
  const SettingInfo* setting = find_setting(name, command);
  TRAINYARD_CHECK(setting != nullptr);
  return *setting;
}

std::string default_text(std::string_view name, std::string_view command) {
  const std::string& text = setting_of(name, command).fallback;
  TRAINYARD_CHECK(!text.empty());
  return text;
}

double default_number(std::string_view name, std::string_view command) {
  return number_or(to_value(default_text(name, command)), 0);
}

std::int64_t default_whole(std::string_view name, std::string_view command) {
  return std::get<std::int64_t>(to_value(default_text(name, command)));
}

const NumberRange* find_range(std::string_view name) {
  for (const SettingInfo& setting : all_settings())
    if (setting.name == name && setting.range) return &*setting.range;
  return nullptr;
}

const NumberRange& range_of(std::string_view name) {
  const NumberRange* range = find_range(name);
  TRAINYARD_CHECK(range != nullptr);
  return *range;
}

bool is_compared(std::string_view name) {
  return std::all_of(all_settings().begin(), all_settings().end(),
                     [&](const SettingInfo& setting) { return setting.name != name || setting.compared; });
}

Value as_given(double field) { return to_value(fmt::format("{}", field)); }

namespace {

bool is_default(const SettingInfo& setting, const Value& value) {
  const std::string text = to_text(value);
  if (!setting.fallback.empty()) return text == setting.fallback;
  return text.empty() || text == "0" || text == "false";
}

}  // namespace

void add_asked(const SettingInfo& setting, const Value& value, Settings& asked) {
  using Asked = SettingInfo::Asked;
  if (setting.asked == Asked::never || (setting.asked == Asked::given && is_default(setting, value))) return;
  asked[setting.name] = value;
}

bool is_choice(std::string_view word, const std::vector<std::string>& choices) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const std::string& choice) { return stands_for(choice, word); });
}

std::string complaint_about(const SettingInfo& setting, const Value& value,
                            const std::vector<std::string>& choices) {
  const std::string given = to_text(value);
  const std::vector<std::string>& words = setting.choices.empty() ? choices : setting.choices;
  std::string expected;
  if (setting.range)
    expected = setting.range->contains(value) ? "" : setting.range->describe();
  else if (!has_form(setting, value))
    expected = expected_form(setting);
  else if (setting.form == Form::choice && !words.empty() && !is_choice(given, words))
    return fmt::format("{} '{}'{}: one of {} expected", setting.name, given, did_you_mean(given, words),
                       joined(words, ", "));
  if (expected.empty()) return "";
  return given.empty() ? fmt::format("{}: {} expected", setting.name, expected)
                       : fmt::format("{} '{}': {} expected", setting.name, given, expected);
}

}  // namespace trainyard::record
