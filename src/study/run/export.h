#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

// The eight columns of PSC's TF_PERFORMANCE_RESULTS.csv, the first without a name: row number, mean speed,
// mean time per step, speed uncertainty, jitter, GPU type, GPU count, staging ($SCRATCH or $LOCAL). Numbers
// as Python 2 printed them. Neither has a line end; a run without a result leaves its numbers empty.
std::string legacy_csv_head();
std::string legacy_csv_row(std::size_t index, const record::RunRecord& run);

// A word of a CSV line, in quotes where it must be.
std::string csv_word(const std::string& text);

// One line a run, after a line of column names: PSC's eight columns first, then what came later: id, status,
// every setting that any run has, node, speeds with intervals, figures of the machine.
std::string to_csv(const std::vector<record::RunRecord>& runs);

// One record a line.
std::string to_json_lines(const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
