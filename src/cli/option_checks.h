#pragma once

namespace CLI {
class App;
}

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "networks/generator/parameter.h"
#include "record/number_range.h"
#include "run/bench.h"

namespace trainyard::cli {

// For `->transform(within(range))` of an option that takes numbers: what is outside is refused with what was
// given and what is allowed, --help shows the range, and the parser gets the number in a form that it reads
// as it was meant (010 is ten).
CLI::Validator within(const record::NumberRange& range);

CLI::Validator within(const char* setting);  // the range of that setting of studies

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

void add_stopping_options(CLI::App& command, run::StoppingOptions& options);

}  // namespace trainyard::cli
