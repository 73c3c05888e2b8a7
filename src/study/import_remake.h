#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

// A CSV of FC sweeps of ParaDnn's PyTorch re-make (github.com/cissieAB/pytorch-paradnn).
bool is_remake(std::string_view text);

// One record a row; a second row of the same point is its next replicate. Duration 0 is a point that ran out
// of memory. Error (config) names file and line of a damaged row.
std::vector<record::RunRecord> import_remake(const std::string& file, std::string_view text);

}  // namespace trainyard::study
