#pragma once

#include <type_traits>

#include "base/device_spec.h"
#include "cli/command.h"
#include "networks/generator/parameter.h"
#include "record/settings.h"

namespace trainyard::cli {

// For `->transform(within(range))` of an option that takes numbers: what is outside is refused with what was
// given and what is allowed, --help shows the range, and the parser gets the number in a form that it reads
// as it was meant (010 is ten).
Check within(const record::NumberRange& range);
Check within(const char* setting);  // the range of that setting

// For `->check()`.
Check one_of(std::vector<std::string> words);
Check in_range(std::int64_t least, std::int64_t most);

// "a,b" -> a, b; what may be behind the last comma, nothing, is no item.
std::vector<std::string> split_at_commas(const std::string& text);

// Gives an option what the row of a setting says: range, type, default. REQUIRES: the bound value is the
// default.
Option* describe(Option* option, const record::SettingInfo& setting);
std::string option_names(const record::SettingInfo& setting);  // "--batch,-b"
std::string help_of(const record::SettingInfo& setting);

// Adds the option of a setting as a command ("bench", "train", "ensemble") takes it (record/settings.h). It
// may also be given by its place where it has a name for that.
template <typename T>
Option* add_setting(Command& command, const char* of, const char* name, T& value,
                    const std::string& place = "") {
  const record::SettingInfo& setting = record::setting_of(name, of);
  return describe(command.add_option(place + option_names(setting), value, help_of(setting)), setting);
}
Option* add_setting(Command& command, const char* of, const char* name, bool& value);  // a flag
// A path; where the command will write it, it is looked at before (outputs.h).
Option* add_setting(Command& command, const char* of, const char* name, std::filesystem::path& value,
                    const std::string& place = "");
// Error (usage) names what is no device.
Option* add_setting(Command& command, const char* of, const char* name, DeviceSpec& value);

// Options that have no effect when `idle` is true.
struct Idle {
  bool idle;  // in this combination
  std::vector<const char*> options;
  std::string why;
};

// Prints one line on standard error for each of them that was given. A study has the same settings in all of
// its cells, so this is no error.
void warn_of_idle_options(const Command& command, const std::vector<Idle>& rules);

bool is_given(const Command& command, const char* option);

// Adds one option for each parameter of a generated network; its help names the networks that have it.
void add_parameter_options(Command& command, networks::generator::Given& given);

// Adds the options of all settings that a struct of options has (its visit_settings). The setting `first` may
// also be given by its place, without its option.
template <typename Options>
void add_settings(Command& command, const char* of, Options& options, std::string_view first = {}) {
  visit_settings(options, [&]<typename Field>(const char* name, Field& field) {
    if constexpr (std::is_same_v<Field, networks::generator::Given>)
      add_parameter_options(command, field);
    else if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, DeviceSpec>)
      add_setting(command, of, name, field);
    else
      add_setting(command, of, name, field,
                  first == name ? record::setting_of(name, of).option().substr(2) + "," : "");
  });
}

}  // namespace trainyard::cli
