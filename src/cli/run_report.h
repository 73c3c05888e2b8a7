#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/clock.h"
#include "cli/deployment_options.h"
#include "cli/run_options.h"
#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/peaks.h"
#include "record/run_record.h"
#include "train/deployment.h"
#include "train/replicas.h"

namespace trainyard::cli {

// Flops per second of the best matrix product in the run's precision, measured now for half a second on its
// device and so many threads, or on options.cores where it names them, to which the calling thread stays
// limited; 0 where the backend has none.
double measure_peak(const train::SessionOptions& options, int threads);

// When the command began, by both clocks.
struct RunStart {
  double wall = wall_seconds(), steady = now_seconds();
};

// What the steps of a run came to.
struct Measurement {
  std::span<const double> warmup_seconds, step_seconds;
  std::int64_t images_consumed = 0, counted_steps = 0;  // images, and the steps that consumed them
  meter::CpuUse cpu;
  std::span<const record::Warning> noise;
  std::span<const int> cores_in_reach;
  meter::CoreDistance core_distance;
  double peak_flops_per_second = 0;
  // Of all steps: by events, of a device that times itself (0: there is none), and by the clock.
  double event_seconds = 0, wall_seconds = 0;
  const char* feed = "none";      // who made the batches
  double input_wait_seconds = 0;  // of wall_seconds
  meter::GpuUse gpu;
};

// What is known of this machine and program, and what CPU kernels were found to be able to use.
record::Provenance machine_facts();

// Where oneDNN is kept from instructions that the processor announces, the record gets a warning.
void warn_of_refused_isa(record::RunRecord& run);

// What a record says of any command: when, where and on what it ran, as of now.
record::RunRecord new_record(const std::string& command, const RunStart& start);

// What a record says of a run whatever became of it, as of now.
record::RunRecord begin_record(const std::string& command, const RunStart& start, const RunOptions& options,
                               const train::Deployment& deployment);

// The part of a run's record that bench and train share; docs/formats/run-record.md describes it.
record::RunRecord make_record(const std::string& command, const RunStart& start, const RunOptions& options,
                              const train::Deployment& deployment, const train::RunFacts& facts,
                              const Measurement& measured);

// The same as a short table for people.
void print_report(const record::RunRecord& run);

// Where --record asks for it.
void keep_record(const record::RunRecord& run, const RunOptions& options);

// Runs a command. When it fails, or is refused, through no fault of the caller's and --record was given, the
// record says how, with the status that a study would give it; the error then goes on.
int recording_failure(const std::string& command, const RunOptions& options,
                      const DeploymentOptions& deployment, const std::function<int()>& run);

}  // namespace trainyard::cli
