#pragma once

#include "predict/kernels/kernel_shape.h"
#include "predict/kernels/nearest_process.h"

namespace trainyard::predict {

// NodeHabit is the record of one node of a plan, as far as memory depends on it.
struct NodeHabit {
  std::string op;     // of the plan, so perhaps a fused one
  NodeOperands node;  // of the step's node of that name
  bool taken = true;  // false: a fused node that the plan could have had and did not
  double ratio = -1;  // workspace over the bytes it reads and writes; below 0: not known
};

// KernelHabits predicts which fused nodes the kernels of one device take, and their workspace, from nearby
// nodes of the same op.
class KernelHabits {
 public:
  KernelHabits() = default;
  explicit KernelHabits(const std::vector<NodeHabit>& seen);

  bool takes(const std::string& op, const NodeOperands& node) const;  // what nobody saw is taken
  double workspace_bytes(const std::string& op, const NodeOperands& node) const;

 private:
  struct Table {
    std::vector<PlacedSample> taken, ratios;
    std::vector<NodeOperands> nodes;  // beside the ratios
    bool all_taken = true;
  };
  std::map<std::string, Table> tables_;
  double largest_bytes_ = 0;
};

struct TimedShape {
  const KernelShape* shape;
  double seconds;
  double weight;  // what of its run
};

// Finds the rates of a device that agree best with measured kernels, by robust least squares of logarithms,
// starting from known values (`first`: peaks and launches, as measured or by the data sheet).
Rates fit_rates(const std::vector<TimedShape>& kernels, const Rates& first);

// KernelSample holds the equal kernels of one run, as they were measured.
struct KernelSample {
  Rates rates;
  int group = 0;       // samples of one group are left out together
  double seconds = 0;  // mean of those that ran
  double share = 1;    // of them that ran: a neighbour did the work of the others
  double error = -1;   // of their prediction by others, as a logarithm; below 0: not known
};

// KernelTimes predicts the seconds of kernels on devices from measured kernels: the best time of a device,
// times the ratio of nearby kernels of the same op to theirs. An op that nobody measured goes by what
// products of its size reach, or by what others do that move as many bytes.
class KernelTimes {
 public:
  struct Estimate {
    double seconds = 0;  // with the chance that a neighbour does its work
    double known = 0;    // 0: nothing alike was measured, 1: the same
    double error = 0.3;  // of predictions nearby, as a logarithm; as it is, where none is known
  };

  void add(const KernelShape& shape, const KernelSample& sample);
  // Predicts as if no sample of group `without` were there.
  Estimate at(const KernelShape& shape, const Rates& rates, int without = kNobody) const;

 private:
  // Table holds the samples of one op or kind.
  struct Table {
    std::vector<PlacedSample> times;  // of what ran: logarithm of seconds over those at best
    std::vector<double> errors;       // of their predictions by others
    std::vector<PlacedSample> shares;
    bool all_ran = true;

    void add_share(const PlacedSample& share);
  };

  double share_at(const KernelShape& shape, const Rates& rates, int without) const;

  std::map<std::string, Table> tables_;
  std::vector<PlacedSample> products_, others_;  // of all ops, by size
};

}  // namespace trainyard::predict
