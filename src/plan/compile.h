#pragma once

#include <map>
#include <string>

#include "backend/backend.h"
#include "plan/step_plan.h"

namespace trainyard::plan {

struct CompileOptions {
  bool fuse = true;
  backend::Precision precision = backend::Precision::f32;
  // Somebody else wants the gradients: all of them are stored, also where an update could make its own, and
  // each as soon as it can be.
  bool keep_gradients = false;
  // Layouts that are already decided, by value name: an evaluation plan shares the trained parameters.
  std::map<std::string, Layout> pinned_layouts;
};

// Graph -> fused graph -> live nodes -> kernels and layouts -> memory. Everything is decided here; running
// allocates nothing.
CompiledStep compile(const graph::Graph& graph, const backend::Backend& backend,
                     const CompileOptions& options = {});

// Layouts of the values that live across steps, for the pinned_layouts of another plan.
std::map<std::string, Layout> persistent_layouts(const StepPlan& plan);

}  // namespace trainyard::plan
