#pragma once

#include "predict/analytic/time_model.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

struct FitOptions {
  bool calibrate = true;            // intervals, by holding networks and families out: as many more fits
  bool settle = false;              // without calibration, too: say how well runs settle the constants
  bool learn_use = true;            // of resources, where runs say it
  const TimeModel* base = nullptr;  // keep its constants, and fit the devices of the runs alone
  // The fit calls this between fits: true ends the calibration, and the model then has no intervals.
  std::function<bool()> stop = nullptr;
};

// Fits to some rows of the set. Runs out of memory train the memory model, all others train time. REQUIRES:
// at least one row. Throws Error (config) when no run ended well.
TimeModel fit_model(const RunSet& set, const std::vector<std::size_t>& rows, const FitOptions& options = {});

std::vector<std::size_t> all_rows(const RunSet& set);
std::vector<std::size_t> ended_well(const RunSet& set, const std::vector<std::size_t>& rows);

// Fits the memory model to runs that ended well and to runs that ran out of memory.
MemoryModel fit_memory_of(const RunSet& set, const std::vector<std::size_t>& rows);

// Returns log(measured / predicted) of the model without its residual, averaged over runs of the same work on
// the same device. REQUIRES: the model has seen the devices.
std::vector<Residual::Sample> missed_by(const TimeModel& model, const RunSet& set,
                                        const std::vector<std::size_t>& rows);

// Sets how wide the intervals of a fitted model are. Errors of runs like those seen come from folds of the
// rows; errors of networks never seen from holding each network, and each family, out of everything. Where
// the options have a base, what it says of networks is kept. `earlier` are samples of its residual. Leaves
// the model without intervals when it was stopped.
void calibrate(const RunSet& set, const std::vector<std::size_t>& rows,
               const std::vector<Residual::Sample>& earlier, const FitOptions& options, TimeModel& model);

// Returns half of an interval that holds kCoverage of errors like these: the k-th smallest, k = ceil((n + 1)
// coverage), by split conformal prediction (Lei et al., 2018). Returns 0 for no errors.
double conformal_quantile(std::vector<double> errors);

}  // namespace trainyard::predict
