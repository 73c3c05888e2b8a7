#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "place/jobs_file.h"
#include "place/simulate.h"
#include "study/run/progress.h"

namespace trainyard::cli {

struct SubmitPlacement {
  std::string launcher;  // local or slurm
  std::filesystem::path out;
};

// Starts every placed job as `trainyard train`, through the launchers of studies: those of one slot in the
// order of their starts, one at a time, beside those of the others. The folder is a study's; killed or
// interrupted, the same call goes on where it stopped. Error (usage) when the folder holds another placement
// or something else.
study::StudyProgress submit_placement(const place::Problem& problem,
                                      const std::vector<place::JobRequest>& requests,
                                      const place::Outcome& outcome, const SubmitPlacement& options);

}  // namespace trainyard::cli
