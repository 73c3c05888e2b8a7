#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"

namespace trainyard::study {

// Job outputs of PSC's DeepMNIST benchmarks of 2018 (github.com/asakhare/Tensoflow-Benchmarking-with-
// CNN_DL_MNIST), told by their names or by what they hold; folders are searched. Tables, pictures and
// anything else are passed over, and so is a second copy of the same job. Sorted by the start of the job;
// runs that asked for the same are replicates of each other. Error (config) names a path that cannot be read.
std::vector<record::RunRecord> import_psc(const std::vector<std::filesystem::path>& paths);

// One job output. A job without a result has a status and a reason. images_per_second counts all images of a
// step, statistics.legacy is as printed; step_seconds stay empty.
record::RunRecord import_psc_output(const std::string& file_name, std::string_view text);

}  // namespace trainyard::study
