#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "plan/step_plan.h"

namespace trainyard::plan {

// Picks among candidates that accept a node by the time their kernels take. Reorders that one of them may
// need are not counted.
class FastestCandidate {
 public:
  // The backend must outlive this.
  explicit FastestCandidate(const backend::Backend& backend) : backend_(backend) {}

  // The others are added to `declined` with their times. The first one when there is no memory to measure.
  // REQUIRES: accepted is not empty.
  const backend::Candidate* find(const std::vector<const backend::Candidate*>& accepted,
                                 const backend::KernelRequest& request, std::vector<Declined>& declined);

 private:
  const std::vector<double>& measured(const std::vector<const backend::Candidate*>& accepted,
                                      const backend::KernelRequest& request);

  const backend::Backend& backend_;
  std::map<std::string, std::vector<double>> seconds_;  // nodes that look the same are measured once
};

}  // namespace trainyard::plan
