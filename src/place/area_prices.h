#pragma once

namespace trainyard::place {

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
