#include "analyze/transfer.h"

#include <algorithm>
#include <cmath>

#include "stats/least_squares.h"

namespace trainyard::analyze {

double TransferModel::predict(const StepWork& work, double source_seconds) const {
  const double host = target.host_share(work), unusual = source_seconds / source.predict(work);
  return target.predict(work) * std::pow(unusual, host * carried_by_host + (1 - host) * carried_by_device);
}

TransferModel fit_transfer(std::span<const PairedSample> samples, const Roofs& source_roofs,
                           const Roofs& target_roofs) {
  std::vector<StepSample> source, target;
  for (const PairedSample& sample : samples) {
    source.push_back({sample.work, sample.source_seconds});
    target.push_back({sample.work, sample.target_seconds});
  }
  TransferModel model{fit_step_model(source, source_roofs), fit_step_model(target, target_roofs), 0, 0};
  stats::Matrix unusual(samples.size(), 2);
  std::vector<double> missed;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const StepWork& work = samples[i].work;
    const double host = model.target.host_share(work);
    const double by = std::log(samples[i].source_seconds / model.source.predict(work));
    unusual(i, 0) = host * by;
    unusual(i, 1) = (1 - host) * by;
    missed.push_back(std::log(samples[i].target_seconds / model.target.predict(work)));
  }
  const std::vector<double> carried = stats::solve_least_squares(std::move(unusual), std::move(missed));
  model.carried_by_host = std::clamp(carried[0], 0.0, 1.0);
  model.carried_by_device = std::clamp(carried[1], 0.0, 1.0);
  return model;
}

}  // namespace trainyard::analyze
