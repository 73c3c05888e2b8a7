#pragma once

#include "record/run_record.h"

namespace trainyard::cli {

// Prints the record of a run as a short table.
void print_report(const record::RunRecord& run);

}  // namespace trainyard::cli
