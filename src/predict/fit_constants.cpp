#include "predict/fit_constants.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyze/robust_fit.h"

namespace trainyard::predict {
namespace {

// An error beyond this, in logarithms, counts by its size and no longer by its square.
constexpr double kToleratedError = 0.1;
constexpr double kUsualError = 0.05;
constexpr double kFarthest = 5;  // deviations of a constant from the prior

// Logarithms of constants, as deviations from the prior.
class Parameters {
 public:
  explicit Parameters(const ConstantsPrior& prior) : prior_(prior) {}

  std::size_t count() const {
    return (prior_.fixed_shared ? std::size_t{0} : std::size_t{kSharedConstants}) +
           prior_.own.size() * kDeviceConstants;
  }
  FittedConstants at(const std::vector<double>& deviations) const {
    FittedConstants constants{prior_.shared, prior_.own};
    std::size_t next = 0;
    const auto moved = [&](double first, const ConstantRow& row) {
      return first * std::exp(std::clamp(deviations[next++], -kFarthest, kFarthest) * row.deviation);
    };
    if (!prior_.fixed_shared)
      for (std::size_t i = 0; i < kSharedConstants; ++i)
        constants.shared[i] = moved(prior_.shared[i], kSharedRows[i]);
    for (std::size_t d = 0; d < prior_.own.size(); ++d)
      for (std::size_t i = 0; i < kDeviceConstants; ++i)
        constants.own[d][i] = moved(prior_.own[d][i], kDeviceRows[i]);
    return constants;
  }

 private:
  const ConstantsPrior& prior_;
};

}  // namespace

FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<Device>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior) {
  const Parameters parameters(prior);
  // Runs of one work on one device share its parts.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) groups[{runs[r].work, runs[r].device}].push_back(r);
  const double pull = kUsualError * std::sqrt(kPriorRuns);
  const auto residuals_of = [&](const std::vector<double>& deviations, std::vector<double>& residuals) {
    const FittedConstants constants = parameters.at(deviations);
    residuals.resize(runs.size() + deviations.size());
    for (const auto& [key, members] : groups) {
      const DeviceConstants& own = constants.own[key.second];
      const StepParts parts = step_parts(works[key.first], devices[key.second], constants.shared, own);
      for (const std::size_t r : members)
        residuals[r] = std::log(run_seconds(parts, own, runs[r].steps, runs[r].with_start) / runs[r].seconds);
    }
    for (std::size_t p = 0; p < deviations.size(); ++p) residuals[runs.size() + p] = pull * deviations[p];
  };
  constexpr int kRounds = 30;
  const analyze::RobustFit fit = analyze::fit_robustly(std::vector<double>(parameters.count(), 0.0),
                                                       kToleratedError, residuals_of, kRounds);
  return parameters.at(fit.parameters);
}

}  // namespace trainyard::predict
