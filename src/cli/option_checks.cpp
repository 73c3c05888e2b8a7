#include "cli/option_checks.h"

#include <fmt/core.h>

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

}  // namespace trainyard::cli
