#include "cli/option_checks.h"

#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "networks/zoo/zoo.h"

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

void add_stopping_options(CLI::App& command, run::StoppingOptions& options) {
  command
      .add_option("--until-width", options.until_width,
                  "Stop when the 95 % interval of the mean step is within this share of it, such as 0.02; "
                  "--steps is the most")
      ->transform(within("until_width"));
  command.add_option("--max-seconds", options.max_seconds, "Stop when the timed steps took so long together")
      ->transform(within("max_seconds"));
}

}  // namespace trainyard::cli
