#pragma once

#include <optional>
#include <string>

#include "predict/run_table.h"

namespace trainyard::predict {

// The training run that a record of `trainyard profile` measured, where its program says --network, --batch
// and
// --steps: its whole time, and shares of it in which resources were in bursts or near their capacity.
// `device` as for table_of_records. Nothing where it says less, or did not end well.
std::optional<TableRun> run_of_profile(const record::RunRecord& record, const std::string& device);

}  // namespace trainyard::predict
