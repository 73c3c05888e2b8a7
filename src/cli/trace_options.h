#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/deployment_options.h"
#include "cli/run_options.h"
#include "record/run_record.h"
#include "train/step_tracer.h"

namespace trainyard::cli {

// Whether steps of a run are traced, and which.
struct TraceOptions {
  std::filesystem::path file;  // empty: none are
  std::string steps = "3";     // so many, or "20..22"
};

void add_trace_options(CLI::App& command, TraceOptions& options);

// What the parser cannot check; Error (usage) names the option.
void check(const TraceOptions& options, const DeploymentOptions& deployment);

// Null: nobody asked for a trace.
std::unique_ptr<train::StepTracer> make_tracer(const TraceOptions& options);

// "trace.json" of worker 1 is "trace.worker-1.json".
std::filesystem::path of_part(const std::filesystem::path& file, const char* what, int number);

// What was traced, with what was asked. Error (usage) when no step was.
void write_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked);
// The same; the run's record says where it is.
void keep_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked,
                record::RunRecord& run);

}  // namespace trainyard::cli
