#pragma once

#include "run/bench.h"
#include "run/run_record.h"

namespace trainyard::run {

// The ways of `bench` that do not time steps of training or forward passes.

// Rounds, each of which reads a batch of prompts and makes so many tokens behind them.
BenchResult bench_decoding(const BenchOptions& options, ProgressListener* progress);
// Requests that come by an arrival process and are answered in batches.
BenchResult bench_requests(const BenchOptions& options, ProgressListener* progress);

// Error (usage) for settings that only steps have: several devices, batches that somebody makes, traces,
// kernels one by one.
void check_no_steps(const BenchOptions& options);

// The roofs of the machine. Shared machines drift: that of arithmetic is the mean of what it was on either
// side of the run.
class RoofsAround {
 public:
  RoofsAround(const BenchOptions& options, const train::SessionOptions& session, int devices);

  double peak(bool interrupted) const;  // measured once more, unless there is no time for it
  void add_bandwidths(record::RunRecord& run) const;

 private:
  const train::SessionOptions session_;
  const int threads_;
  const bool measures_;
  const double peak_before_;
};

// The record of what was timed, with the roofs.
record::RunRecord record_under_roofs(const BenchOptions& options, const RunStart& start,
                                     const train::Deployment& deployment, const train::RunFacts& facts,
                                     Measurement measured, const RoofsAround& roofs, bool interrupted);

// "interrupted after 3 of 50 timed steps"
void mark_interrupted(record::RunRecord& run, std::int64_t done, std::int64_t wanted, const char* what);

}  // namespace trainyard::run
