#pragma once

#include "record/run_record.h"

namespace trainyard::study {

// Returns the text without blanks around it.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// PscLog is the content of the output of one of PSC's jobs, as far as it goes: a job that failed stops
// anywhere. Empty words and zeros: not given.
struct PscLog {
  // These fields hold the result as printed.
  std::optional<double> mean_seconds, mean_speed, speed_uncertainty, speed_jitter, test_accuracy;
  std::vector<double> training_accuracies;  // each over the images of one step
  std::int64_t steps = 0;                   // the last one told of and the distance between two

  // These fields come from scontrol.
  std::string job_id, partition, node, script;  // script: the job's, from Command=
  std::string gpu_type;
  std::int64_t gpus = 0, cpus = 0, tasks = 0;
  std::int64_t nodes = 1;  // jobs of several print their environment instead of asking scontrol
  double started_seconds = 0, cancelled_seconds = 0;  // since 1970

  // From the job script's own trace.
  std::string program;  // what python was told to run
  std::string cpu_model, gpu_model, tensorflow;
  std::int64_t batch = 0;
  double wall_seconds = 0, cpu_seconds = 0;  // of the program, as `time` gave them

  // The reason for a missing result: the most telling line; status ok when none was found.
  record::Status failure = record::Status::ok;
  std::string reason;
  int exit_code = 0;
};

PscLog parse_psc_log(std::string_view text);

// Recognises a job's output by its content, whatever its file is called.
bool is_psc_log(std::string_view text);

}  // namespace trainyard::study
