#include "predict/analytic/memory_need.h"

#include <cmath>

namespace trainyard::predict {
namespace {

constexpr double kFloatBytes = 4;
// The prior of the share, without samples: contexts and libraries take some hundred MiB.
constexpr double kFirstShare = 0.95, kShareDeviation = 0.05;

double normal_share(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

}  // namespace

MemoryNeed memory_need(const NetworkWork& work) {
  const double weights = kFloatBytes * work.parameters;
  return {.weights = weights,
          .gradients = weights,
          .optimizer = weights * work.state_slots,
          .activations = work.peak_live_bytes,
          .workspace = work.largest_kernel_bytes};
}

double MemoryModel::oom_probability(double bytes, const DeviceSheet& device) const {
  return normal_share(std::log(bytes / (usable_share * device.memory_bytes)) / deviation);
}

MemoryModel fit_memory(const std::vector<MemorySample>& samples) {
  MemoryModel best;
  double best_likelihood = -1e300;
  for (int step = -100; step <= 100; ++step) {
    MemoryModel tried;
    const double away = 3 * step / 100.0;  // deviations from what is known
    tried.usable_share = kFirstShare * std::exp(away * kShareDeviation);
    double likelihood = -away * away / 2;
    for (const MemorySample& sample : samples) {
      const double p = tried.oom_probability(sample.bytes, {.memory_bytes = sample.memory_bytes});
      likelihood += std::log(std::max(sample.oom ? p : 1 - p, 1e-12));
    }
    if (likelihood <= best_likelihood) continue;
    best_likelihood = likelihood;
    best = tried;
  }
  return best;
}

}  // namespace trainyard::predict
