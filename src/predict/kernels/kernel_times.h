#pragma once

#include <map>
#include <string>
#include <vector>

#include "predict/kernels/nearest_process.h"

namespace trainyard::predict {

struct TimedShape {
  const KernelShape* shape;
  double seconds;
  double weight;  // what of its run
};

// The rates of a device that agree best with kernels that were measured: least squares of logarithms, robust,
// from what is known (`first`: peaks and launches, as measured or by the data sheet).
Rates fit_rates(const std::vector<TimedShape>& kernels, const Rates& first);

// Kernels of one run that are alike, as they were measured.
struct KernelSample {
  Rates rates;
  int group = 0;       // samples of one group are left out together
  double seconds = 0;  // mean of those that ran
  double share = 1;    // of them that ran: a neighbour did the work of the others
  double error = -1;   // of their prediction by others, as a logarithm; below 0: not known
};

// Seconds of kernels on devices, learned from kernels that were measured: what a device does at best, times
// what kernels of the same op nearby took over that.
class KernelTimes {
 public:
  struct Estimate {
    double seconds = 0;  // with the chance that a neighbour does its work
    double known = 0;    // 0: nothing alike was measured, 1: the same
    double error = 0.3;  // of predictions nearby, as a logarithm; as it is, where none is known
  };

  void add(const KernelShape& shape, const KernelSample& sample);
  // As if no sample of group `without` were there.
  Estimate at(const KernelShape& shape, const Rates& rates, int without = kNobody) const;

 private:
  // By op or kind.
  struct Table {
    std::vector<PlacedSample> times;  // of what ran: logarithm of seconds over those at best
    std::vector<double> errors;       // of their predictions by others
    std::vector<PlacedSample> shares;
    bool all_ran = true;

    void add_share(const PlacedSample& share);
  };

  double share_at(const KernelShape& shape, const Rates& rates, int without) const;

  std::map<std::string, Table> tables_;
};

}  // namespace trainyard::predict
