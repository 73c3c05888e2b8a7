#pragma once

#include "record/run_record.h"

namespace trainyard::study {

// The eight columns are those of PSC's TF_PERFORMANCE_RESULTS.csv, the first without a name: row number, mean
// speed, mean time per step, speed uncertainty, jitter, GPU type, GPU count, staging ($SCRATCH or $LOCAL).
// Numbers are as Python 2 printed them. Neither line has a line end; a run without a result leaves its
// numbers empty.
std::string legacy_csv_head();
std::string legacy_csv_row(std::size_t index, const record::RunRecord& run);

// Quotes a word of a CSV line where it must be quoted.
std::string csv_word(const std::string& text);

// Writes a line of column names and one line for each run: PSC's eight columns first, then the later ones:
// id, status, every setting that any run has, node, speeds with intervals, figures of the machine.
std::string to_csv(const std::vector<record::RunRecord>& runs);

// Writes one record a line.
std::string to_json_lines(const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
