#pragma once

#include "process/run_to_end.h"
#include "record/figures.h"
#include "record/steady_state.h"
#include "record/value.h"

namespace trainyard::record {

// Fact is one property that the program found by itself: {"cpu", "model", "Intel(R) Xeon(R) ..."}.
struct Fact {
  std::string section, key;
  Value value;
};

using Provenance = std::vector<Fact>;

// Warning reports something that makes a measurement less trustworthy; the run still counts.
struct Warning {
  std::string kind;  // load, steal, frequency, throttle, cores, clock, ...
  std::string text;  // one line for people
};

// Returns the fact, or null.
const Value* find_fact(const Provenance& facts, const std::string& section, const std::string& key);

// Status tells how a run ended. Every status except `ok` has a reason, and no run is ever dropped.
enum class Status {
  ok,
  failed,       // the program reported an error (exit code)
  nan,          // the loss is not a number any more
  diverged,     // the loss is a number, and far above where it began
  oom,          // out of memory: its own report, or killed for it
  timeout,      // the study's limit or the cluster's
  crash,        // ended by a signal
  refused,      // never started: resources that do not exist, settings that cannot be
  cancelled,    // by a person, through the cluster
  interrupted,  // Ctrl-C, state saved
};

const char* name(Status status);
std::optional<Status> find_status(std::string_view name);

// RunRecord is one measured execution. docs/formats/run-record.md describes its JSON form.
struct RunRecord {
  std::string id;     // unique among all runs; in a study CELL-rREPLICATE-aATTEMPT
  std::string study;  // name; empty outside of one
  std::string cell;   // content hash of the settings; empty outside a study
  int replicate = 1, attempt = 1;

  Status status = Status::ok;
  std::string reason;  // one line, empty when ok
  int exit_code = 0;   // 128 + signal

  std::string command;         // bench, train, program, import
  Settings asked;              // as in the study file or on the command line
  std::string node;            // host it ran on
  double started_seconds = 0;  // since 1970
  double wall_seconds = 0;     // of the whole process

  std::vector<double> warmup_step_seconds;  // told to be left out before any statistic
  std::vector<double> step_seconds;         // timed steps in order
  double images_per_step = 0;               // over all devices, counted from data consumed
  StepStatistics statistics;                // of step_seconds; steps = 0: none
  // Images over the real time of the steady steps, stalls included; absent without steps. The figure
  // median_images_per_second, images over the median step, leaves out disturbances of single steps.
  std::optional<double> images_per_second;

  // Results, by the names of figure_list.h.
  Numbers figures;  // NaN: not known
  Words words;      // empty: none
  Details details;  // lists and tables, as JSON text

  Provenance provenance;
  std::vector<Warning> warnings;

  double figure_or(NumberName name, double otherwise) const { return any_figure_or(name.text(), otherwise); }
  // The same for a name that is only known when the program runs.
  double any_figure_or(const std::string& name, double otherwise) const;
};

// Formats the peak memory of a run: "1.2 GiB", or for a run on a GPU "9 GiB of the GPU, 1.2 GiB of the host".
std::string peak_memory_text(const RunRecord& run);

// Fills in the statistics and speeds from step_seconds and images_per_step. Without steps nothing changes.
void summarise_steps(RunRecord& run);

// Writes one JSON object; doubles survive the round trip exactly, numbers that are not finite become null.
std::string to_json(const RunRecord& record);
// Throws Error (config) for text that is no record, or one of a newer schema. Unknown keys are ignored.
RunRecord run_record_from_json(std::string_view text);

// Both access a record file; errors name it. It is written whole or not at all.
RunRecord read_run_record(const std::filesystem::path& path);
void write_run_record(const RunRecord& record, const std::filesystem::path& path);

// Returns everything that must agree for two runs' speeds to be comparable: the request, where known as it
// really ran (backend auto becomes onednn), and the build. The length of the measurement, the seed and the
// place in a queue are not part of it.
Settings envelope(const RunRecord& run);

struct SettingDifference {
  std::string name, a, b;  // "" where a side does not have the setting
};

// Returns differences in alphabetical order of the names.
std::vector<SettingDifference> differences(const Settings& a, const Settings& b);

// Returns facts about the machine and the software in which any two of the runs differ, among those that
// explain a difference in speed: models, compiler, commit, library versions. `a` and `b` list the values of
// each side.
std::vector<SettingDifference> fact_differences(std::span<const RunRecord> a, std::span<const RunRecord> b);

// Says for the record how a run ended.
struct EndStatus {
  Status status = Status::ok;
  std::string reason;
};

// Interprets the end of a child. `kind` is as in a job, `last_line` is the last line that it printed, and
// `out_of_memory_kills` counts the kernel's kills for lack of memory meanwhile.
EndStatus status_of_end(const process::ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills);

// Tells whether the last line of a run reports that its numbers became NaN.
bool says_not_a_number(const std::string& line);

}  // namespace trainyard::record
