#pragma once

#include "base/standard.h"

namespace trainyard::place {

// TimedJob is a job as bounds see it.
struct TimedJob {
  double arrival = 0, devices = 1;
  std::vector<double> seconds;  // on each kind; infinite: it does not fit there
};

// A price of a second of one device, of each kind and each of equally long spans of time.
struct TimePrices {
  double span_seconds = 1;
  std::vector<std::vector<double>> of_kind;
};

// Any prices bound the sum of ends of all schedules that stop no job: a job ends, and pays for the time that
// it runs, no cheaper than at the best time on the best kind, and what all pay is at most what all devices
// cost (the dual of the time-indexed linear programme: Dyer and Wolsey 1990). `load`, if any, becomes the
// seconds that jobs then take of each kind in each span.
double completion_by_prices(const std::vector<TimedJob>& jobs, const std::vector<double>& devices,
                            const TimePrices& prices, std::vector<std::vector<double>>* load);

// Raises a bound that is known, step by step, from prices that are given; in some seconds at most.
double raise_completion_bound(const std::vector<TimedJob>& jobs, const std::vector<double>& devices,
                              TimePrices prices, double known);

// AreaInput is work of which it is open how it is cut up: any share of a job may run on any device.
struct AreaInput {
  std::vector<double> devices;               // how many of each kind
  std::vector<std::vector<double>> seconds;  // of each job on each kind; infinite: it does not fit there

  std::size_t kinds() const { return devices.size(); }
};

// Prices of a second of each kind, with which a second of all devices costs 1.
using AreaPrices = std::vector<double>;

// What a job costs at least; `kind` becomes the one where it does.
double least_cost(const AreaInput& input, const AreaPrices& prices, std::size_t job, std::size_t& kind);

// Whatever the prices are, a schedule is at least as long as all jobs cost together. These prices make that
// bound nearly as large as it can be: the optimum of the linear programme of unrelated parallel machines.
AreaPrices area_prices(const AreaInput& input);

}  // namespace trainyard::place
