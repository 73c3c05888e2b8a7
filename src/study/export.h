#pragma once

#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

// A word of a CSV line, in quotes where it must be.
std::string csv_word(const std::string& text);

// One line a run, after a line of column names: PSC's eight columns first, then what came later: id, status,
// every setting that any run has, node, speeds with intervals, figures of the machine.
std::string to_csv(const std::vector<record::RunRecord>& runs);

// One record a line.
std::string to_json_lines(const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
