#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/progress.h"
#include "engine/op_breakdown.h"
#include "record/run_record.h"
#include "record/steady_state.h"
#include "run/deployment_options.h"
#include "run/run_options.h"
#include "run/train_options.h"

namespace trainyard::run {

// When to end a measurement before its last step.
struct StoppingOptions {
  double until_width = 0;  // 0: not by it
  double max_seconds = 0;  // 0: no limit
};

// Error (usage) for what cannot be meant.
record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps);

// The settings of `bench`.
struct BenchOptions {
  RunOptions run;
  DeploymentOptions deployment;
  std::int64_t steps = record::default_whole("steps", "bench"),
               warmup_steps = record::default_whole("warmup", "bench");
  StoppingOptions stopping;
  TraceOptions trace;
  std::string feed = record::default_text("feed", "bench");
  bool no_peak = false, ops = false;
};

struct BenchResult {
  record::RunRecord run;
  std::optional<engine::OpBreakdown> ops;  // where it was asked for
  bool interrupted = false;
};

// Times the steps of a network and keeps the record where the options name a file for it. A request to stop
// (process::StopRequest) ends it early with what was measured.
BenchResult bench(const BenchOptions& options, ProgressListener* progress);

// Returns the share of the breakdown's time.
double share_of_time(const engine::OpShare& share, const engine::OpBreakdown& ops);

// The breakdown in a run's record; docs/formats/run-record.md describes it. REQUIRES: its statistics.
void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops);

}  // namespace trainyard::run
