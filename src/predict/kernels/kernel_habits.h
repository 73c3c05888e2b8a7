#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

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

}  // namespace trainyard::predict
