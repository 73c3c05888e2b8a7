#pragma once

namespace CLI {
class App;
}

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analyze/bursts.h"
#include "analyze/legacy_shares.h"
#include "meter/profile_command.h"
#include "record/run_record.h"

namespace trainyard::cli {

// What a trace comes to.
struct ReducedTrace {
  std::vector<analyze::Signal> signals;
  std::vector<analyze::BurstProfile> profiles;  // of each signal
  std::vector<analyze::LegacyShares> legacy;    // empty: not asked for
};

// `profile` of docs/formats/profile.md.
nlohmann::ordered_json json_of(const ReducedTrace& reduced);

// Totals of a trace by name, as a record has them: disk_read_bytes, gpu_energy_joules, ...
void add_trace_figures(const record::ResourceTrace& trace, record::RunRecord& run);

// For people.
void print_reduced(const ReducedTrace& reduced);
void print_profile(const record::RunRecord& run, const meter::CommandProfile& profile);

std::function<int()> declare_profile(CLI::App& command);

}  // namespace trainyard::cli
