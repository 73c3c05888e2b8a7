#pragma once

#include <map>
#include <string>
#include <vector>

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// What a device does at best, in one precision: where prediction begins, and what tells devices apart.
struct Rates {
  double flops_per_second = 1, bytes_per_second = 1, launch_seconds = 0;

  double seconds(const KernelShape& shape) const {
    return launch_seconds + shape.flops / flops_per_second + shape.bytes / bytes_per_second;
  }
};

// One kernel that was measured, or several of one run that are alike.
struct KernelSample {
  ShapePlace place{};
  int rates = 0;        // which of the table's
  int group = 0;        // whose: samples of one group are left out together
  double logarithm = 0;  // of measured seconds over those at best; of what ran
  double share = 1;     // of the kernels alike that ran: the others were done by a neighbour
  double workspace = 0;  // bytes
};

// Seconds of kernels on devices, learned from kernels that were measured: a Gaussian process over shape and
// device, by the nearest samples of the same kind, on what is known at best.
class KernelTimes {
 public:
  struct Estimate {
    double seconds = 0;
    double workspace = 0;
    double known = 0;  // 0: nothing alike was measured, 1: the same
  };
  static constexpr int kNobody = -1;

  int add_rates(const Rates& rates);  // its number
  void add(const KernelShape& shape, const KernelSample& sample);

  // As if no sample of group `without` were there.
  Estimate at(const KernelShape& shape, const Rates& rates, int without = kNobody) const;

  const std::vector<Rates>& rates() const { return rates_; }
  const std::map<std::string, std::vector<KernelSample>>& samples() const { return samples_; }

 private:
  struct Near {
    double square;
    const KernelSample* sample;
  };
  std::vector<Near> nearest(const std::string& kind, const ShapePlace& place, const Rates& rates,
                            int without) const;

  std::vector<Rates> rates_;
  std::map<std::string, std::vector<KernelSample>> samples_;  // by kind
};

}  // namespace trainyard::predict
