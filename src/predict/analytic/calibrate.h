#pragma once

#include "predict/analytic/fit_model.h"

namespace trainyard::predict {

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
