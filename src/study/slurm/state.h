#pragma once

#include "record/run_record.h"

namespace trainyard::study::slurm {

// The readers of Slurm's output share the functions down to append_tasks().

// Returns the word after " KEY=" in a line of KEY=VALUE words; empty when there is none, or it is "(null)".
std::string_view field(std::string_view line, std::string_view key);

// Returns the number that a text begins with; 0: none.
std::int64_t to_number(std::string_view text);

// Returns seconds since 1970 of "1794720235" or, in this machine's time zone, "2026-11-15T05:23:55"; 0:
// neither.
double to_seconds(std::string_view time);

// TaskState is Slurm's state of one task of a job array.
struct TaskState {
  std::int64_t job_id = 0;  // the array's
  int task = -1;            // -1: no array
  std::string state;        // PENDING, RUNNING, COMPLETED, ...: one word, as Slurm spells it
  std::string reason;       // NonZeroExitCode, BadConstraints, ...; empty: none
  int exit_code = 0, signal = 0;
  std::string nodes;                              // a node list; empty before it started
  double started_seconds = 0, ended_seconds = 0;  // since 1970; 0: not known

  bool final() const;  // it will not run (again)
  bool waits() const;  // it has not begun
};

// "3:0" is exit code 3, "0:9" signal 9.
void set_exit(std::string_view text, TaskState& state);

std::vector<std::string_view> lines_of(std::string_view text);

// Appends one state for each task in `tasks` ("3", "5-7%2"; empty: no array), and nothing when that is
// malformed.
void append_tasks(const TaskState& state, std::string_view tasks, std::vector<TaskState>& states);

// Outcome tells how a task ended, in the words of records.
struct Outcome {
  record::Status status = record::Status::failed;
  std::string reason;
  int exit_code = 0;  // 128 + signal
};

// REQUIRES: state.final(), and the task left no record.
Outcome outcome_of(const TaskState& state);

// These parse the three sources of states, and skip other lines. A task that Slurm reports as a group
// ("ArrayTaskId=3-7") becomes a state each.
std::vector<TaskState> parse_scontrol(std::string_view text);  // scontrol show job --oneliner
std::vector<TaskState> parse_jobcomp(std::string_view text);   // the file of jobcomp/filetxt
std::vector<TaskState> parse_sacct(std::string_view text);     // sacct with kSacctFormat

inline constexpr const char* kSacctFormat = "JobID,State,ExitCode,NodeList,Start,End";

}  // namespace trainyard::study::slurm
