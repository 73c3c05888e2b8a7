#include "plan/compile.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/units.h"
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

// What one node reads, or what it makes, must be in memory at once: a step that cannot fit is refused before
// anything is measured.
void check_memory(const graph::Graph& graph, const backend::Device& device) {
  const auto free_bytes = static_cast<std::int64_t>(device.free_bytes());
  if (free_bytes == 0) return;
  for (const graph::Node& node : graph.nodes()) {
    const auto together = [&](std::vector<graph::ValueId> values) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      std::int64_t bytes = 0;
      for (const graph::ValueId value : values)
        if (const graph::Role role = graph.value(value).role;
            role == graph::Role::input || role == graph::Role::intermediate)
          bytes += graph.value(value).type.bytes();
      return bytes;
    };
    if (const std::int64_t bytes = std::max(together(node.inputs), together(node.outputs));
        bytes > free_bytes)
      fail(ErrorKind::device, "{}: out of memory: {} asked by {} '{}' alone, {} free", device.name(),
           format_bytes(bytes), node.op->name, node.name, format_bytes(free_bytes));
  }
}

}  // namespace

CompiledStep compile(const graph::Graph& graph, const backend::Backend& backend,
                     const CompileOptions& options) {
  CompiledStep step;
  step.device = backend.device();
  step.plan.backend = backend.name();
  step.plan.threads = thread_count();
  graph::Graph fused = options.precision == backend::Precision::bf16 ? verified(lower_to_bf16(graph)) : graph;
  if (options.fuse) {
    fused = verified(fuse(fused, backend, step.plan.fusions));
    fused = verified(fuse_chains(fused, backend, step.plan.fusions));
    if (!options.keep_gradients) fused = verified(fuse_updates(fused, backend, step.plan.fusions));
  }
  const int lanes = step.device->lanes();
  if (lanes > 1) fused = verified(split_update(fused));
  step.graph = std::make_unique<const graph::Graph>(verified(live_nodes(fused)));
  check_memory(*step.graph, *step.device);
  choose_kernels(step, backend, options);
  if (options.keep_gradients) finish_gradients_early(step);
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
