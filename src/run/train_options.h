#pragma once

#include "record/run_record.h"
#include "run/deployment_options.h"
#include "run/run_options.h"
#include "train/loop/training.h"
#include "train/session/step_tracer.h"

namespace trainyard::run {

// --resume: go on from checkpoints, which must be there. --resume=auto: go on where there are any, or begin.
struct ResumeOption {
  std::string value;

  bool is_given() const { return !value.empty(); }
  bool is_auto() const { return value == "auto"; }
};

// The options that say whether steps of a run are traced, and which.
struct TraceOptions {
  std::filesystem::path file;                               // empty: none are
  std::string steps = record::default_text("trace_steps");  // so many, or "20..22"
};

template <typename Visit>
void visit_settings(TraceOptions& options, const Visit& visit) {
  visit("trace", options.file);
  visit("trace_steps", options.steps);
}

// The options of `train`; its workers get the same options.
struct TrainCommand {
  RunOptions run;
  DeploymentOptions deployment;
  WorkersOptions workers;
  PsOptions ps;
  TraceOptions trace;
  InputOptions input;
  std::string preprocess, feed = record::default_text("feed");
  std::int64_t steps = 0;
  double epochs = record::default_number("epochs");
  std::filesystem::path out;
  ResumeOption resume;
  bool overwrite = false, no_eval = false;
  train::TrainOptions train;
};

// Those of `run` are left out.
template <typename Visit>
void visit_settings(TrainCommand& options, const Visit& visit) {
  visit_settings(options.deployment, visit);
  visit_settings(options.workers, visit);
  visit_settings(options.ps, visit);
  visit_settings(options.input, visit);
  visit_settings(options.trace, visit);
  visit("preprocess", options.preprocess);
  visit("feed", options.feed);
  visit("steps", options.steps);
  visit("epochs", options.epochs);
  visit("eval_every", options.train.eval_every);
  visit("no_eval", options.no_eval);
  visit("out", options.out);
  visit("checkpoint_every", options.train.checkpoint_every);
  visit("keep", options.train.keep);
}

// Returns what a training was asked for. REQUIRES: the options of the workers are settled (apply).
record::Settings asked_of(const TrainCommand& options);

// Checks what the parser cannot; Error (usage) names the option.
void check(const TrainCommand& options);

// Gives a network that reads a text the vocabulary of its bytes, unless another was asked for.
void settle_vocabulary(TrainCommand& options);

// Error (usage) where a GPU that feeds itself should accumulate: only steps of one batch are its own.
void check_by_host(const std::string& feed, const DeploymentOptions& deployment);

// Checks what the parser cannot; Error (usage) names the option.
void check(const TraceOptions& options, const DeploymentOptions& deployment);

// Returns null when the options ask for no trace.
std::unique_ptr<train::StepTracer> make_tracer(const TraceOptions& options);

// "trace.json" of worker 1 is "trace.worker-1.json".
std::filesystem::path of_part(const std::filesystem::path& file, const char* what, int number);

// Writes the traced steps with the options of the run. Error (usage) when no step was traced.
void write_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked);

// The same; also notes the file in the run's record.
void keep_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked,
                record::RunRecord& run);

}  // namespace trainyard::run
