#include "plan/compile.h"

#include "base/parallel.h"
#include "graph/verifier.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

graph::Graph verified(graph::Graph graph) {
#ifndef NDEBUG
  graph::verify(graph);
#endif
  return graph;
}

}  // namespace

CompiledStep compile(const graph::Graph& graph, const backend::Backend& backend,
                     const CompileOptions& options) {
  CompiledStep step;
  step.device = backend.device();
  step.plan.backend = backend.name();
  step.plan.threads = thread_count();
  graph::Graph fused = options.precision == backend::Precision::bf16 ? verified(lower_to_bf16(graph)) : graph;
  if (options.fuse) fused = verified(fuse(fused, backend, step.plan.fusions));
  const int lanes = step.device->lanes();
  if (lanes > 1) fused = verified(split_update(fused));
  step.graph = std::make_unique<const graph::Graph>(verified(live_nodes(fused)));
  choose_kernels(step, backend, options);
  place_buffers(step);
  if (lanes > 1) {
    // Steps that share memory must wait for each other, so what is small has its own.
    constexpr std::size_t kPartOfFree = 4;
    if (step.plan.unshared_slab_bytes() <= step.device->free_bytes() / kPartOfFree)
      place_buffers(step, false);
    assign_lanes(step, lanes);
  }
  return step;
}

std::map<std::string, Layout> persistent_layouts(const StepPlan& plan) {
  std::map<std::string, Layout> layouts;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.region == Region::parameters || buffer.region == Region::statistics ||
        buffer.region == Region::optimizer_state)
      layouts[buffer.name] = buffer.layout;
  return layouts;
}

}  // namespace trainyard::plan
