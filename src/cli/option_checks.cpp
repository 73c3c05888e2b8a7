#include "cli/option_checks.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/outputs.h"
#include "networks/zoo/zoo.h"
#include "run/run_options.h"

namespace trainyard::cli {

CLI::Validator within(const record::NumberRange& range) {
  return CLI::Validator(
      [range](std::string& given) -> std::string {
        const auto number = range.read(given);
        if (!number) return range.complaint(given);
        given = *number;
        return "";
      },
      range.brief());
}

CLI::Validator within(const char* setting) { return within(record::range_of(setting)); }

CLI::Option* describe(CLI::Option* option, const record::SettingInfo& setting) {
  if (setting.range) option->transform(within(*setting.range));
  if (!setting.type.empty()) option->type_name(setting.type);
  if (setting.fallback.empty()) return option;
  option->capture_default_str();
  TRAINYARD_CHECK(option->get_default_str() == setting.fallback);
  return option;
}

std::string option_names(const record::SettingInfo& setting) {
  return setting.letter.empty() ? setting.option() : setting.option() + "," + setting.letter;
}

std::string help_of(const record::SettingInfo& setting) { return run::about(setting); }

CLI::Option* add_setting(CLI::App& command, const char* of, const char* name, bool& value) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  return command.add_flag(option_names(setting), value, help_of(setting));
}

CLI::Option* add_setting(CLI::App& command, const char* of, const char* name, std::filesystem::path& value,
                         const std::string& place) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  const std::string names = place + option_names(setting), help = help_of(setting);
  CLI::Option* option = setting.form != record::SettingInfo::Form::output
                            ? command.add_option(names, value, help)
                        : setting.type == "DIR" ? add_output_folder(command, names, value, help)
                                                : add_output_file(command, names, value, help);
  return describe(option, setting);
}

CLI::Option* add_setting(CLI::App& command, const char* of, const char* name, DeviceSpec& value) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  CLI::Option* option = command.add_option_function<std::string>(
      option_names(setting), [&value](const std::string& given) { value = DeviceSpec::parse(given); },
      help_of(setting));
  return describe(option->default_str(value.to_string()), setting);
}

bool is_given(const CLI::App& command, const char* option) { return command.get_option(option)->count() > 0; }

void warn_of_idle_options(const CLI::App& command, const std::vector<Idle>& rules) {
  for (const Idle& rule : rules)
    for (const char* option : rule.options)
      if (rule.idle && is_given(command, option))
        fmt::print(stderr, "trainyard: {} has no effect: {}\n", option, rule.why);
}

void add_parameter_options(CLI::App& command, networks::generator::Given& given) {
  std::vector<std::string> names;
  std::map<std::string, std::string> help;
  for (const networks::NetworkInfo& network : networks::all_networks()) {
    if (network.generator == nullptr) continue;
    for (const networks::generator::Parameter& parameter : network.generator->parameters) {
      std::string& text = help[parameter.name];
      if (text.empty()) names.push_back(parameter.name);
      text += fmt::format("{} {}: {} (default: {})", text.empty() ? "Of network" : "; of", network.name,
                          parameter.about, parameter.fallback);
    }
  }
  for (const std::string& name : names)
    command.add_option_function<std::string>(
        "--" + name, [&given, name](const std::string& value) { given[name] = value; }, help[name]);
}

}  // namespace trainyard::cli
