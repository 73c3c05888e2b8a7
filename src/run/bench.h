#pragma once

#include "base/progress.h"
#include "engine/op_breakdown.h"
#include "record/run_record.h"
#include "record/steady_state.h"
#include "run/deployment_options.h"
#include "run/run_options.h"
#include "run/train_options.h"
#include "train/session/session.h"

namespace trainyard::run {

// Flops per second of the best matrix product in the run's precision, measured now for half a second on its
// device and so many threads, or on options.cores where it names them, to which the calling thread stays
// limited; 0 where the backend has none.
double measure_peak(const train::SessionOptions& options, int threads);

// Measures now, for a tenth of a second each, how fast the run's device reads: peak_bytes_per_second of its
// memory, and peak_cache_bytes_per_second of arrays that stay in its caches: those of a CPU's threads, or the
// one that all of a GPU shares. Steps of small networks are below the second roof only.
void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads);

// Says when to end a measurement before its last step.
struct StoppingOptions {
  double until_width = 0;  // 0: not by it
  double max_seconds = 0;  // 0: no limit
};

// Error (usage) for what cannot be meant.
record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps);

// Says what `decode` makes of each sequence.
struct DecodeOptions {
  std::int64_t prompt_tokens = record::default_whole("prompt_tokens", "bench"),
               new_tokens = record::default_whole("new_tokens", "bench");
};

template <typename Visit>
void visit_settings(DecodeOptions& options, const Visit& visit) {
  visit("prompt_tokens", options.prompt_tokens);
  visit("new_tokens", options.new_tokens);
}

// Says how requests come, and how batches are made of them.
struct RequestOptions {
  std::string arrivals;  // empty: no requests, but full batches one after the other
  std::int64_t requests = record::default_whole("requests", "bench");
  double wait_seconds = record::default_number("batch_wait", "bench");
  std::string sizes = record::default_text("batch_sizes", "bench");
};

template <typename Visit>
void visit_settings(RequestOptions& options, const Visit& visit) {
  visit("arrivals", options.arrivals);
  visit("requests", options.requests);
  visit("batch_wait", options.wait_seconds);
  visit("batch_sizes", options.sizes);
}

// Holds the settings of `bench`.
struct BenchOptions {
  RunOptions run;
  DeploymentOptions deployment;
  std::int64_t steps = record::default_whole("steps", "bench"),
               warmup_steps = record::default_whole("warmup", "bench");
  StoppingOptions stopping;
  DecodeOptions decode;
  RequestOptions requests;
  TraceOptions trace;
  std::string feed = record::default_text("feed", "bench");
  bool no_peak = false, ops = false;
};

// Those of `run` are left out, but for the mode, which `train` does not have.
template <typename Visit>
void visit_settings(BenchOptions& options, const Visit& visit) {
  visit("mode", options.run.mode);
  visit_settings(options.deployment, visit);
  visit("steps", options.steps);
  visit("warmup", options.warmup_steps);
  visit("feed", options.feed);
  visit("until_width", options.stopping.until_width);
  visit("max_seconds", options.stopping.max_seconds);
  visit_settings(options.decode, visit);
  visit_settings(options.requests, visit);
  visit_settings(options.trace, visit);
  visit("no_peak", options.no_peak);
  visit("ops", options.ops);
}

// Returns what a benchmark was asked for.
record::Settings asked_of(const BenchOptions& options);

struct BenchResult {
  record::RunRecord run;
  std::optional<engine::OpBreakdown> ops;  // where it was asked for
  bool interrupted = false;
};

// Times the steps of a network, the tokens that it makes or the requests that it answers, and keeps the
// record where the options name a file for it. A request to stop (process::StopRequest) ends it early with
// what was measured.
BenchResult bench(const BenchOptions& options, ProgressListener* progress);

// Returns the share of the breakdown's time.
double share_of_time(const engine::OpShare& share, const engine::OpBreakdown& ops);

// The breakdown in a run's record; docs/formats/run-record.md describes it. REQUIRES: its statistics.
void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops);

}  // namespace trainyard::run
