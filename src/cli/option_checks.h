#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "networks/generator/parameter.h"
#include "record/settings.h"
#include "record/steady_state.h"

namespace trainyard::cli {

// For `->transform(within(range))` of an option that takes numbers: what is outside is refused with what was
// given and what is allowed, --help shows the range, and the parser gets the number in a form that it reads
// as it was meant (010 is ten).
CLI::Validator within(const record::NumberRange& range);
CLI::Validator within(const char* setting);  // the range of that setting

// Gives an option of `names` what the row of a setting says: type, range, default. REQUIRES: the bound value
// is the default.
CLI::Option* describe(CLI::Option* option, const record::SettingInfo& setting);
std::string option_names(const record::SettingInfo& setting);  // "--batch,-b"
std::string help_of(const record::SettingInfo& setting);

// Adds the option of a setting as `run` ("bench", "train", "ensemble") takes it (record/settings.h). It may
// also be given by its place where it has a name for that.
template <typename T>
CLI::Option* add_setting(CLI::App& command, const char* run, const char* name, T& value,
                         const std::string& place = "") {
  const record::SettingInfo& setting = record::setting_of(name, run);
  return describe(command.add_option(place + option_names(setting), value, help_of(setting)), setting);
}
CLI::Option* add_setting(CLI::App& command, const char* run, const char* name, bool& value);  // a flag

// Throws Error (usage) that names the option, what is allowed and what was probably meant.
void want_one_of(const char* option, const std::string& given, const std::vector<std::string>& allowed);
// The same for a choice of a setting.
void want_choice(const char* run, const char* name, const std::string& given);

// Options that have no effect when `idle` is true.
struct Idle {
  bool idle;  // in this combination
  std::vector<const char*> options;
  std::string why;
};

// Prints one line on standard error for each of them that was given. A study has the same settings in all of
// its cells, so this is no error.
void warn_of_idle_options(const CLI::App& command, const std::vector<Idle>& rules);

bool is_given(const CLI::App& command, const char* option);

// Adds one option for each parameter of a generated network; its help names the networks that have it.
void add_parameter_options(CLI::App& command, networks::generator::Given& given);

// When to end a measurement before its last step.
struct StoppingOptions {
  double until_width = 0;  // 0: not by it
  double max_seconds = 0;  // 0: no limit
};

void add_stopping_options(CLI::App& command, StoppingOptions& options);

// Error (usage) for what cannot be meant.
record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps);

}  // namespace trainyard::cli
