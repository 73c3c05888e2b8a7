#include "cli/option_checks.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "networks/zoo/zoo.h"
#include "run/run_options.h"

namespace trainyard::cli {

Check within(const record::NumberRange& range) {
  return {[range](std::string& given) -> std::string {
            const auto number = range.read(given);
            if (!number) return range.complaint(given);
            given = *number;
            return "";
          },
          range.brief()};
}

Check within(const char* setting) { return within(record::range_of(setting)); }

Check one_of(std::vector<std::string> words) {
  const std::string all = "{" + joined(words, ",") + "}";
  return {[words, all](std::string& given) {
            const bool known = std::find(words.begin(), words.end(), given) != words.end();
            return known ? "" : given + " not in " + all;
          },
          all};
}

Check in_range(std::int64_t least, std::int64_t most) {
  return {[=](std::string& given) {
            const bool inside = record::NumberRange::whole(least, most).read(given).has_value();
            return inside ? "" : fmt::format("Value {} not in range {} to {}", given, least, most);
          },
          fmt::format("INT in [{} - {}]", least, most)};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  for (std::size_t comma; (comma = text.find(',', begin)) != std::string::npos; begin = comma + 1)
    items.push_back(text.substr(begin, comma - begin));
  if (begin < text.size() || text.empty()) items.push_back(text.substr(begin));
  return items;
}

Option* describe(Option* option, const record::SettingInfo& setting) {
  if (setting.range) option->transform(within(*setting.range));
  if (!setting.type.empty()) option->type_name(setting.type);
  if (setting.fallback.empty()) return option;
  option->capture_default_str();
  TRAINYARD_CHECK(option->default_text() == setting.fallback);
  return option;
}

std::string option_names(const record::SettingInfo& setting) {
  return setting.letter.empty() ? setting.option() : setting.option() + "," + setting.letter;
}

std::string help_of(const record::SettingInfo& setting) { return run::about(setting); }

Option* add_setting(Command& command, const char* of, const char* name, bool& value) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  return command.add_flag(option_names(setting), value, help_of(setting));
}

Option* add_setting(Command& command, const char* of, const char* name, std::filesystem::path& value,
                    const std::string& place) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  const std::string names = place + option_names(setting), help = help_of(setting);
  Option* option = setting.form != record::SettingInfo::Form::output ? command.add_option(names, value, help)
                   : setting.type == "DIR" ? add_output_folder(command, names, value, help)
                                           : add_output_file(command, names, value, help);
  return describe(option, setting);
}

Option* add_setting(Command& command, const char* of, const char* name, DeviceSpec& value) {
  const record::SettingInfo& setting = record::setting_of(name, of);
  Option* option = command.add_option_function(
      option_names(setting), [&value](const std::string& given) { value = DeviceSpec::parse(given); },
      help_of(setting));
  return describe(option->default_str(value.to_string()), setting);
}

bool is_given(const Command& command, const char* option) { return command.get_option(option)->count() > 0; }

void warn_of_idle_options(const Command& command, const std::vector<Idle>& rules) {
  for (const Idle& rule : rules)
    for (const char* option : rule.options)
      if (rule.idle && is_given(command, option))
        fmt::print(stderr, "trainyard: {} has no effect: {}\n", option, rule.why);
}

void add_parameter_options(Command& command, networks::generator::Given& given) {
  std::vector<std::string> names;
  std::map<std::string, std::string> help;
  for (const networks::NetworkInfo& network : networks::all_networks()) {
    // The first of a family has its name; the others differ in what they take where nothing is given.
    if (network.generator == nullptr || network.name != network.family) continue;
    for (const networks::generator::Parameter& parameter : network.generator->parameters) {
      std::string& text = help[parameter.name];
      if (text.empty()) names.push_back(parameter.name);
      text += fmt::format("{} {}: {} (default: {})", text.empty() ? "Of network" : "; of", network.name,
                          parameter.about, parameter.fallback);
    }
  }
  for (const std::string& name : names)
    command.add_option_function(
        record::SettingInfo{.name = name}.option(),
        [&given, name](const std::string& value) { given[name] = value; }, help[name]);
  command
      .add_option_function(
          "--parameter",
          [&given](const std::vector<std::string>& all) {
            for (const std::string& one : all) {
              const std::size_t equals = one.find('=');
              if (equals == 0 || equals == std::string::npos)
                fail(ErrorKind::usage, "--parameter {}: NAME=VALUE expected", one);
              given[one.substr(0, equals)] = one.substr(equals + 1);
            }
          },
          "A parameter that the network's file has (YAML); may be given several times")
      ->type_name("NAME=VALUE");
}

}  // namespace trainyard::cli
