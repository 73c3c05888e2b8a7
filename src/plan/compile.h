#pragma once

#include "backend/backend.h"
#include "plan/step_plan.h"

namespace trainyard::plan {

struct CompileOptions {
  bool fuse = true;
  backend::Precision precision = backend::Precision::f32;
  // If set, another reader wants the gradients: the plan stores all of them, also where an update could make
  // its own, and each as early as possible.
  bool keep_gradients = false;
  // The plan may take so many bytes; 0: as many as it likes. Then forward values are computed again in the
  // backward pass where they do not fit until then. Error (unsupported) where the smallest plan is larger.
  std::size_t limit_bytes = 0;
  // False: the optimizer's state is kept elsewhere and never becomes memory, so the limit does not count it.
  bool optimizer_state = true;
  // Layouts that are already decided, by value name: an evaluation plan shares the trained parameters.
  std::map<std::string, Layout> pinned_layouts;
};

// Graph -> fused graph -> live nodes -> kernels and layouts -> memory. Everything is decided here; running
// allocates nothing.
CompiledStep compile(const graph::Graph& graph, const backend::Backend& backend,
                     const CompileOptions& options = {});

// Layouts of the values that live across steps, for the pinned_layouts of another plan.
std::map<std::string, Layout> persistent_layouts(const StepPlan& plan);

// Picks the fastest among candidates that accept a node, by the measured time of their kernels. Reorders that
// a candidate may need are not counted.
class FastestCandidate {
 public:
  // The backend must outlive this.
  explicit FastestCandidate(const backend::Backend& backend) : backend_(backend) {}

  // Adds the others to `declined` with their times. Returns the first candidate when there is no memory to
  // measure. REQUIRES: accepted is not empty.
  const backend::Candidate* find(const std::vector<const backend::Candidate*>& accepted,
                                 const backend::KernelRequest& request, std::vector<Declined>& declined);

 private:
  const std::vector<double>& measured(const std::vector<const backend::Candidate*>& accepted,
                                      const backend::KernelRequest& request);

  const backend::Backend& backend_;
  std::map<std::string, std::vector<double>> seconds_;  // nodes that look the same are measured once
};

}  // namespace trainyard::plan
