#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "place/jobs_file.h"
#include "place/simulate.h"
#include "record/run_record.h"

namespace trainyard::cli {

struct SubmitPlacement {
  std::string launcher;  // local or slurm
  std::filesystem::path out;
};

// Starts every placed job as `trainyard train`, in the order of their starts, through the launchers of
// studies; returns how each ended, less those still in the queue when Ctrl-C was pressed. Records and logs
// are in the folder. REQUIRES: it is not there yet.
std::vector<record::RunRecord> submit_placement(const place::Problem& problem,
                                                const std::vector<place::JobRequest>& requests,
                                                const place::Outcome& outcome,
                                                const SubmitPlacement& options);

}  // namespace trainyard::cli
