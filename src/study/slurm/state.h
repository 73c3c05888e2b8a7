#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study::slurm {

// What Slurm says about one task of a job array.
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

// How a task ended, in the words of records.
struct Outcome {
  record::Status status = record::Status::failed;
  std::string reason;
  int exit_code = 0;  // 128 + signal
};

// REQUIRES: state.final(), and the task left no record.
Outcome outcome_of(const TaskState& state);

// The three places that know states. Lines that are none are passed over; a task that Slurm asks about as a
// group ("ArrayTaskId=3-7") becomes a state each.
std::vector<TaskState> parse_scontrol(std::string_view text);  // scontrol show job --oneliner
std::vector<TaskState> parse_jobcomp(std::string_view text);   // the file of jobcomp/filetxt
std::vector<TaskState> parse_sacct(std::string_view text);     // sacct with kSacctFormat

inline constexpr const char* kSacctFormat = "JobID,State,ExitCode,NodeList,Start,End";

}  // namespace trainyard::study::slurm
