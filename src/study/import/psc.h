#pragma once

#include "record/run_record.h"

namespace trainyard::study {

// The name of one of PSC's job outputs, in any form they took in 2018:
//   DATE-[GPU-]TYPE:COUNT[:BATCH][:STAGING][:VARIANT]       2018-06-22-GPU-k80:2:scratch:PS
//   DATE-CPU-PARTITION:MODEL:CORES[:BATCH][:STAGING]        2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch
// and the same with '_' for ':'.
struct PscName {
  std::string date;              // of the submission, 2018-06-22
  bool cpu = false;              // the second form
  bool says_gpu = false;         // "GPU-" is there
  std::string gpu_type;          // first form
  std::string partition, model;  // second form; the model is what a person typed
  std::int64_t count = 0;        // GPUs, or cores
  std::optional<std::int64_t> batch;
  std::string staging;  // local, scratch or empty
  std::string variant;  // PS, IN or empty
  char separator = ':';
};

// Returns nothing when it is not such a name.
std::optional<PscName> parse_psc_name(std::string_view text);

// Inverts the parser: to_text(*parse_psc_name(x)) == x.
std::string to_text(const PscName& name);

// Imports job outputs of PSC's DeepMNIST benchmarks of 2018
// (github.com/asakhare/Tensoflow-Benchmarking-with-CNN_DL_MNIST), recognised by name or content; folders are
// searched. It skips tables, pictures and other files, and a second copy of the same job. Runs are sorted by
// the start of the job; runs with the same request are replicates of each other. Throws Error (config) naming
// a path that cannot be read.
std::vector<record::RunRecord> import_psc(const std::vector<std::filesystem::path>& paths);

// Imports one job output. A job without a result has a status and a reason. images_per_second counts all
// images of a step, statistics.legacy is as printed; step_seconds stay empty.
record::RunRecord import_psc_output(const std::string& file_name, std::string_view text);

}  // namespace trainyard::study
