#pragma once

#include "analyze/bursts.h"
#include "analyze/op_breakdown.h"
#include "cli/command.h"
#include "meter/profile_command.h"
#include "record/run_record.h"

namespace trainyard {
class Json;
}

namespace trainyard::cli {

// The signals of a trace and the figures computed from them.
struct ReducedTrace {
  std::vector<analyze::Signal> signals;
  std::vector<analyze::BurstProfile> profiles;  // of each signal
  std::vector<analyze::LegacyShares> legacy;    // empty: not asked for
};

// Returns the object `profile` of docs/formats/profile.md.
Json json_of(const ReducedTrace& reduced);

// Adds the totals of a trace to the record by name: disk_read_bytes, gpu_energy_joules, ...
void add_trace_figures(const record::ResourceTrace& trace, record::RunRecord& run);

// Both print tables for the terminal.
void print_reduced(const ReducedTrace& reduced);
void print_profile(const record::RunRecord& run, const meter::CommandProfile& profile);

std::function<int()> declare_profile(Command& command);

}  // namespace trainyard::cli
