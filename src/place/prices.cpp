#include "place/prices.h"

#include <limits>
#include <numeric>

namespace trainyard::place {

namespace {

// PaidTime is what a device of a kind costs from the start until any time.
class PaidTime {
 public:
  PaidTime(const std::vector<double>& prices, double span) : span_(span), until_{0} {
    for (const double price : prices) until_.push_back(until_.back() + price * span);
  }
  double until(double seconds) const {
    const double spans = seconds / span_;
    const auto whole = static_cast<std::size_t>(spans);
    if (whole + 1 >= until_.size()) return until_.back();
    return until_[whole] + (spans - static_cast<double>(whole)) * (until_[whole + 1] - until_[whole]);
  }
  double end() const { return span_ * static_cast<double>(until_.size() - 1); }

 private:
  double span_;
  std::vector<double> until_;
};

struct Best {
  double cost = std::numeric_limits<double>::infinity(), start = 0;
  std::size_t kind = 0;
};

// The cost changes its slope where the job begins or ends at the border of a span.
void try_kind(const TimedJob& job, std::size_t kind, const PaidTime& paid, double span, Best& best) {
  const double runs = job.seconds[kind];
  const auto consider = [&](double start) {
    const double cost = start + runs + job.devices * (paid.until(start + runs) - paid.until(start));
    if (cost < best.cost) best = {cost, start, kind};
  };
  consider(job.arrival);
  for (double border = (std::floor(job.arrival / span) + 1) * span; border <= paid.end(); border += span) {
    if (border + runs >= best.cost) break;  // later is never cheaper than this
    consider(border);
  }
  for (double border = std::ceil((job.arrival + runs) / span) * span; border <= paid.end(); border += span) {
    if (border >= best.cost) break;
    consider(border - runs);
  }
}

void add_load(const TimedJob& job, const Best& best, double span, std::vector<double>& load) {
  const double end = best.start + job.seconds[best.kind];
  for (auto i = static_cast<std::size_t>(best.start / span); i < load.size(); ++i) {
    const double from = span * static_cast<double>(i);
    if (from >= end) break;
    load[i] += job.devices * (std::min(end, from + span) - std::max(best.start, from));
  }
}

}  // namespace

double completion_by_prices(const std::vector<TimedJob>& jobs, const std::vector<double>& devices,
                            const TimePrices& prices, std::vector<std::vector<double>>* load) {
  std::vector<PaidTime> paid;
  double total = 0;
  for (std::size_t kind = 0; kind < devices.size(); ++kind) {
    paid.emplace_back(prices.of_kind[kind], prices.span_seconds);
    total -= devices[kind] * paid.back().until(paid.back().end());
  }
  if (load != nullptr) load->assign(devices.size(), std::vector<double>(prices.of_kind.front().size(), 0.0));
  for (const TimedJob& job : jobs) {
    Best best;
    for (std::size_t kind = 0; kind < devices.size(); ++kind)
      if (std::isfinite(job.seconds[kind])) try_kind(job, kind, paid[kind], prices.span_seconds, best);
    total += best.cost;
    if (load != nullptr) add_load(job, best, prices.span_seconds, (*load)[best.kind]);
  }
  return total;
}

double raise_completion_bound(const std::vector<TimedJob>& jobs, const std::vector<double>& devices,
                              TimePrices prices, double known) {
  constexpr double kMostWork = 2e8;  // jobs x kinds x spans of all rounds
  constexpr int kMostRounds = 600, kMostIdle = 12;
  const std::size_t spans = prices.of_kind.front().size();
  const double work = static_cast<double>(jobs.size() * devices.size() * spans);
  const int rounds = static_cast<int>(std::clamp(kMostWork / work, 4.0, double{kMostRounds}));
  std::vector<std::vector<double>> load;
  double arrivals = 0;
  for (const TimedJob& job : jobs) arrivals += job.arrival;
  // Steps of Polyak: as long as they have to be for what we hope to reach, which is less whenever nothing was
  // gained for a while.
  double best = -std::numeric_limits<double>::infinity(), hope = 0.3;
  TimePrices best_prices = prices;
  for (int round = 0, idle = 0; round < rounds; ++round) {
    const double bound = completion_by_prices(jobs, devices, prices, &load);
    ++idle;
    if (bound > best) {
      if (bound - best > 1e-3 * (bound - arrivals)) idle = 0;
      best = bound;
      best_prices = prices;
    }
    if (idle > kMostIdle) {
      hope /= 2;
      idle = 0;
      prices = best_prices;
      continue;
    }
    const double wanted = std::max(best, known) + hope * (std::max(best, known) - arrivals);
    double norm = 0;
    for (std::size_t kind = 0; kind < devices.size(); ++kind)
      for (double& one : load[kind]) {
        one -= devices[kind] * prices.span_seconds;  // more is asked for than there is
        norm += one * one;
      }
    if (!(norm > 0)) break;
    const double step = (wanted - bound) / norm;
    for (std::size_t kind = 0; kind < devices.size(); ++kind)
      for (std::size_t i = 0; i < spans; ++i)
        prices.of_kind[kind][i] = std::max(0.0, prices.of_kind[kind][i] + step * load[kind][i]);
  }
  return std::max(best, known);
}

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
