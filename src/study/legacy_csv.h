#pragma once

#include <cstddef>
#include <string>

#include "record/run_record.h"

namespace trainyard::study {

// The eight columns of PSC's TF_PERFORMANCE_RESULTS.csv, the first without a name: row number, mean speed,
// mean time per step, speed uncertainty, jitter, GPU type, GPU count, staging ($SCRATCH or $LOCAL). Numbers
// as Python 2 printed them. Neither has a line end; a run without a result leaves its numbers empty.
std::string legacy_csv_head();
std::string legacy_csv_row(std::size_t index, const record::RunRecord& run);

}  // namespace trainyard::study
