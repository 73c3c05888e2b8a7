#include "place/area_prices.h"

#include <limits>
#include <numeric>

namespace trainyard::place {

double least_cost(const AreaInput& input, const AreaPrices& prices, std::size_t job, std::size_t& kind) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < input.kinds(); ++k) {
    const double cost = input.seconds[job][k] * prices[k];
    if (cost >= least) continue;
    least = cost;
    kind = k;
  }
  return least;
}

AreaPrices area_prices(const AreaInput& input) {
  constexpr int kRounds = 600;
  const double all = std::accumulate(input.devices.begin(), input.devices.end(), 0.0);
  AreaPrices prices(input.kinds(), 1 / all), best = prices;
  double largest = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> load(input.kinds(), 0.0);
    double bound = 0;
    for (std::size_t job = 0; job < input.seconds.size(); ++job) {
      std::size_t kind = 0;
      bound += least_cost(input, prices, job, kind);
      load[kind] += input.seconds[job][kind] / input.devices[kind];
    }
    if (!(bound > 0) || !std::isfinite(bound)) break;
    if (bound > largest) {
      largest = bound;
      best = prices;
    }
    // A kind that has more to do than others becomes dearer, by steps that become smaller.
    const double step = 0.5 / std::sqrt(round + 1.0);
    double paid = 0;
    for (std::size_t k = 0; k < input.kinds(); ++k) {
      prices[k] *= std::exp(step * std::clamp(load[k] / bound - 1, -1.0, 1.0));
      paid += prices[k] * input.devices[k];
    }
    for (double& price : prices) price /= paid;
  }
  return best;
}

}  // namespace trainyard::place
