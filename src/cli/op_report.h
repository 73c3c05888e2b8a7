#pragma once

#include "engine/op_breakdown.h"
#include "record/run_record.h"

namespace trainyard::cli {

// The breakdown in a run's record; docs/formats/run-record.md describes it. REQUIRES: its statistics.
void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops);

// The same as a table for people.
void print_ops(const engine::OpBreakdown& ops);

}  // namespace trainyard::cli
