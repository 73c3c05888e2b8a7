#pragma once

#include <cstdint>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "cli/run_options.h"
#include "train/replicas.h"

namespace trainyard::cli {

// Flops per second of the best f32 matrix product, measured now for half a second on so many threads, to
// which the calling thread stays limited; 0 where the backend has none.
double measure_peak(const std::string& backend, int threads);

// The keys that bench and train share; docs/formats/run-record.md describes them.
nlohmann::ordered_json run_report(const train::RunFacts& facts, const RunOptions& options,
                                  std::span<const double> step_seconds, std::int64_t warmup_steps,
                                  double peak_flops_per_second);

// The same as a short table for people.
void print_report(const nlohmann::ordered_json& report);

}  // namespace trainyard::cli
