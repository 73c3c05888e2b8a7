#pragma once

#include "cli/command.h"
#include "cli/page_files.h"
#include "place/policy.h"
#include "place/problem.h"
#include "report/placement/placement_charts.h"
#include "study/run/progress.h"

namespace trainyard::cli {

// The result of one policy: figures are means over the orders of arrival.
struct PolicyResult {
  const place::Policy* policy = nullptr;
  report::PolicyFigures figures;
  place::Outcome first;  // of the first order

  bool left_out() const { return !figures.left_out.empty(); }
};

// PlaceTrial says how policies are tried.
struct PlaceTrial {
  std::string policy = "least-jct";  // or "all"
  double error = 0;                  // of predictions
  std::uint64_t seed = 1;
  int orders = 0;  // random ones; 0: as the jobs are
};
std::vector<PolicyResult> try_policies(const place::Problem& problem, const PlaceTrial& trial);

// `decisions`: of the first result, which is the only one.
Json json_of_results(const place::Problem& problem, const place::Bounds& bounds,
                     const std::vector<PolicyResult>& results, bool decisions);
void print_results(const place::Problem& problem, const place::Bounds& bounds,
                   const std::vector<PolicyResult>& results, bool decisions);

// The parts of `place` that its page tells of.
struct PlacePageInput {
  const place::Problem& problem;
  const place::Bounds& bounds;
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
  const place::Policy* policy = nullptr;
  std::filesystem::path out;
};

// Starts every placed job as `trainyard train`. On this machine arrivals are waited for, and the policy
// decides anew whenever a job arrives or ends; on Slurm those of one slot run in the order of their starts,
// one at a time, beside those of the others. The folder is a study's; killed or
// interrupted, the same call goes on where it stopped. Error (usage) when the folder holds another placement
// or something else.
study::StudyProgress submit_placement(const place::Problem& problem,
                                      const std::vector<place::JobRequest>& requests,
                                      const place::Outcome& outcome, const SubmitPlacement& options);

}  // namespace trainyard::cli
