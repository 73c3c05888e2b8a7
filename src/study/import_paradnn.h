#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

// The JSON files of parallel arrays that ParaDnn published (github.com/Emma926/paradnn): sweeps (gpu_fc,
// tpu_fc), traces and their breakdown by category of ops.
bool is_paradnn(std::string_view text);

// One record a label, those that ended badly too. Error (config) names the file, and the byte where it is no
// JSON or the row whose label or number is damaged.
std::vector<record::RunRecord> import_paradnn(const std::string& file, std::string_view text);

}  // namespace trainyard::study
