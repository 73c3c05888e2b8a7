#pragma once

#include "cli/command.h"
#include "cli/run_options.h"
#include "ensemble/spec.h"
#include "ensemble/summary.h"

namespace trainyard::cli {

void add_ensemble_options(Command& command, ensemble::EnsembleOptions& options);

void add_ensemble_part(Command& command, ensemble::EnsemblePart& part);

// Prints the record of an ensemble as a table with a row a member.
void print_ensemble(const ensemble::EnsembleParts& parts, const record::RunRecord& summary);

}  // namespace trainyard::cli
