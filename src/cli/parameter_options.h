#pragma once

#include <CLI/CLI.hpp>

#include "networks/generator/parameter.h"

namespace trainyard::cli {

// One option for each parameter that a generated network has; its help says of which networks.
void add_parameter_options(CLI::App& command, networks::generator::Given& given);

}  // namespace trainyard::cli
