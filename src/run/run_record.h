#pragma once

#include "base/clock.h"
#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/peaks.h"
#include "record/run_record.h"
#include "run/deployment_options.h"
#include "run/run_options.h"
#include "train/exchange/replicas.h"
#include "train/session/deployment.h"

namespace trainyard::run {

// The time at which the command began, by both clocks.
struct RunStart {
  double wall = wall_seconds(), steady = now_seconds();
};

// The times and resources that the steps of a run took. The spans do not own their data.
struct Measurement {
  std::span<const double> warmup_seconds, step_seconds;
  std::int64_t images_consumed = 0, counted_steps = 0;  // images, and the steps that consumed them
  meter::CpuUse cpu;
  std::span<const record::Warning> noise;
  std::span<const int> cores_in_reach;
  meter::CoreDistance core_distance;
  double peak_flops_per_second = 0;
  // Both cover all steps: event_seconds by the events of a device that times itself (0: there is none),
  // wall_seconds by the clock.
  double event_seconds = 0, wall_seconds = 0;
  const char* feed = "none";      // who made the batches
  double input_wait_seconds = 0;  // of wall_seconds
  meter::GpuUse gpu;
};

// Returns the facts of this machine and program, and what the CPU kernels were found able to use.
record::Provenance machine_facts();

// Adds a warning to the record when oneDNN is kept from instructions that the processor announces.
void warn_of_refused_isa(record::RunRecord& run);

// Returns the part of a record that every command has: when, where and on what it ran, as of now.
record::RunRecord new_record(const std::string& command, const RunStart& start);

// Returns the part of a record that every run has, however it ends, as of now. `asked` is what the command
// was asked for; strategy, devices and scaling become those of the deployment.
record::RunRecord begin_record(const std::string& command, const RunStart& start,
                               const record::Settings& asked, const RunOptions& options,
                               const train::Deployment& deployment);

// The part of a run's record that bench and train share; docs/formats/run-record.md describes it.
record::RunRecord make_record(const std::string& command, const RunStart& start,
                              const record::Settings& asked, const RunOptions& options,
                              const train::Deployment& deployment, const train::RunFacts& facts,
                              const Measurement& measured);

// Writes the record when --record asks for it.
void keep_record(const record::RunRecord& run, const RunOptions& options);

// Runs a command. When it fails, or is refused, through no fault of the caller's and --record was given, the
// record says how, with the status that a study would give it, and what was `asked`; the error then goes on.
int recording_failure(const std::string& command, const RunOptions& options,
                      const DeploymentOptions& deployment, const std::function<record::Settings()>& asked,
                      const std::function<int()>& run);

// Says in a record which nodes did the work: `nodes_used`, `devices_used`, and how many workers on each.
// `nodes`: the node of every worker that did some of the work.
void add_hosts(record::RunRecord& run, const std::vector<std::string>& nodes);

}  // namespace trainyard::run
