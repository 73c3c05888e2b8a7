#pragma once

#include <vector>

#include "place/problem.h"

namespace trainyard::place {

// Scores by which GPUAlloc's predict_driple_model.py chooses a device, one for each kind in the problem's
// order (specs of the ancestor: efficiency E = sum over resources of peak / burst, and the time, four times).
// They know of no queue and no memory.

// Its times run on from one device to the next, so the first has the least unless one is negative.
std::vector<double> legacy_times(const Job& job);
std::vector<double> legacy_times_fixed(const Job& job);

// Resources whose burst is 0 do not count. Error (config) where no use was measured.
std::vector<double> legacy_efficiencies(const Job& job);

// Shares over the largest of their column on the same device, as the network learns them; columns that are
// all zero, which make GPUAlloc's loss not a number, do not count.
class LegacyScaling {
 public:
  explicit LegacyScaling(const Problem& problem);
  std::vector<double> efficiencies(const Job& job) const;

 private:
  struct Largest {
    double burst = 0, peak = 0;
  };
  std::vector<std::vector<Largest>> largest_;  // by kind and resource
};

}  // namespace trainyard::place
