#include "cli/parameter_options.h"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "networks/zoo.h"

namespace trainyard::cli {

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
