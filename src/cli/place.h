#pragma once

#include "cli/command.h"
#include "cli/page_files.h"
#include "place/problem.h"
#include "place/simulate.h"
#include "study/run/progress.h"

namespace trainyard::cli {

// The result of one policy over the orders of arrival.
struct PolicyResult {
  const place::Policy* policy = nullptr;
  std::string left_out;  // why, where it cannot be
  place::Outcome first;  // of the first order
  double mean_completion_seconds = 0, makespan_seconds = 0, utilisation = 0, out_of_memory = 0;
};

// The parts of `place` that its page tells of.
struct PlacePageInput {
  const place::Problem& problem;
  const std::vector<place::JobRequest>& requests;
  const std::vector<PolicyResult>& results;
  std::filesystem::path jobs;
  int orders = 0;
  double error = 0;
};

WrittenFiles write_place_page(const PageFiles& files, const PlacePageInput& input, bool quiet);

std::function<int()> declare_place(Command& command);

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
