#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/outputs.h"
#include "place/jobs_file.h"
#include "place/simulate.h"

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

std::function<int()> declare_place(CLI::App& command);

}  // namespace trainyard::cli
