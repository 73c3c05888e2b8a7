#pragma once

#include <functional>
#include <vector>

namespace trainyard::analyze {

// Parameters that make the residuals small, by Levenberg and Marquardt's method with numeric derivatives. A
// residual beyond `tolerated` counts as its size and no longer as its square (Huber 1964), so that few wild
// points do not lead the fit. Deterministic.
struct RobustFit {
  std::vector<double> parameters;
  double loss = 0;  // mean of Huber's loss
  int rounds = 0;
};

RobustFit fit_robustly(std::vector<double> start, double tolerated,
                       const std::function<void(const std::vector<double>& parameters,
                                                std::vector<double>& residuals)>& residuals_of,
                       int most_rounds = 200);

}  // namespace trainyard::analyze
