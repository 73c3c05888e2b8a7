#pragma once

#include <functional>
#include <vector>

#include "predict/analytic/time_model.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

struct FitOptions {
  bool calibrate = true;            // intervals, by holding networks out: as many more fits
  bool learn_use = true;            // of resources, where runs say it
  const TimeModel* base = nullptr;  // keep its constants, and fit the devices of the runs alone
  // Asked between fits: true ends the calibration, and the model has no intervals.
  std::function<bool()> stop = nullptr;
};

// From some rows of the set. Runs out of memory teach memory, all others time. REQUIRES: at least one row.
// Error (config) when no run ended well.
TimeModel fit_model(const RunSet& set, const std::vector<std::size_t>& rows, const FitOptions& options = {});

std::vector<std::size_t> all_rows(const RunSet& set);
std::vector<std::size_t> ended_well(const RunSet& set, const std::vector<std::size_t>& rows);

// What runs that ended well and runs out of memory tell of it.
MemoryModel fit_memory_of(const RunSet& set, const std::vector<std::size_t>& rows);

// Half of an interval that holds kCoverage of what is like these errors: the k-th smallest, k = ceil((n + 1)
// coverage), split conformal prediction (Lei et al., 2018). 0 of none.
double conformal_quantile(std::vector<double> errors);

}  // namespace trainyard::predict
