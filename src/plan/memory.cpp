#include "graph/op_def.h"
#include "plan/passes.h"
#include "plan/slab.h"
#include "tensor/tensor.h"

namespace trainyard::plan {
namespace {

std::vector<SlabStep> slab_steps(const CompiledStep& compiled) {
  std::vector<SlabStep> steps;
  for (std::size_t s = 0; s < compiled.plan.steps.size(); ++s) {
    const Step& step = compiled.plan.steps[s];
    steps.push_back({step.inputs, step.outputs, step.workspace, compiled.kernels[s]->io().in_place});
  }
  return steps;
}

void note_lifetimes(StepPlan& plan, const std::vector<Lifetime>& lifetimes) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    plan.buffers[b].first_step = lifetimes[b].first_step;
    plan.buffers[b].last_step = lifetimes[b].last_step;
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (const int id : step.inputs) {
      Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      const int first = buffer.first_step;
      if (step.phase == graph::Phase::backward && first < static_cast<int>(s) &&
          plan.steps[static_cast<std::size_t>(first)].phase == graph::Phase::forward)
        buffer.saved = true;
    }
  }
}

}  // namespace

void place_buffers(CompiledStep& compiled, bool share) {
  StepPlan& plan = compiled.plan;
  const std::vector<SlabStep> steps = slab_steps(compiled);
  const std::vector<Lifetime> lifetimes = lifetimes_of(steps, plan.buffers.size());
  note_lifetimes(plan, lifetimes);
  std::vector<std::size_t> bytes;
  for (const Buffer& buffer : plan.buffers) bytes.push_back(buffer.region == Region::slab ? buffer.bytes : 0);
  std::vector<int> storage_of;
  std::vector<Storage> storages = share_in_place(steps, bytes, lifetimes, storage_of);
  if (!share)
    for (Storage& storage : storages) storage.last_step = static_cast<int>(plan.steps.size());
  plan.region_bytes.fill(0);
  const auto append = [&](Buffer& buffer) {
    auto& end = plan.region_bytes[static_cast<std::size_t>(buffer.region)];
    buffer.offset = end;
    end += buffer.bytes;
  };
  // Arenas in the order of the graph's values, gradients in the order of their parameters: then an update, a
  // bucket or a shard is one range in each arena.
  std::vector<std::size_t> order(plan.buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const Buffer& buffer = plan.buffers[i];
      return buffer.region == Region::gradients ? compiled.graph->value(buffer.value).gradient_of
                                                : buffer.value;
    };
    return key(a) < key(b);
  });
  for (const std::size_t i : order)
    if (plan.buffers[i].region != Region::slab) append(plan.buffers[i]);
  plan.region_bytes[static_cast<std::size_t>(Region::slab)] = place_by_size(storages);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    if (storage_of[i] >= 0) plan.buffers[i].offset = storages[static_cast<std::size_t>(storage_of[i])].offset;
}

}  // namespace trainyard::plan
