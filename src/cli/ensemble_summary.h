#pragma once

#include "ensemble/summary.h"

namespace trainyard::cli {

// Prints the record of an ensemble as a table with a row a member.
void print_ensemble(const ensemble::EnsembleParts& parts, const record::RunRecord& summary);

}  // namespace trainyard::cli
