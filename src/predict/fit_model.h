#pragma once

#include <vector>

#include "predict/run_set.h"
#include "predict/time_model.h"

namespace trainyard::predict {

struct FitOptions {
  bool calibrate = true;            // intervals, by holding networks out: as many more fits
  const TimeModel* base = nullptr;  // keep its constants, and fit the devices of the runs alone
};

// From some rows of the set. Runs out of memory teach memory, all others time. REQUIRES: at least one row.
// Error (config) when no run ended well.
TimeModel fit_model(const RunSet& set, const std::vector<std::size_t>& rows, const FitOptions& options = {});

std::vector<std::size_t> all_rows(const RunSet& set);

}  // namespace trainyard::predict
