#include "graph/op_def.h"
#include "plan/passes.h"
#include "tensor/tensor.h"

namespace trainyard::plan {
namespace {

// Bytes that several buffers share one after the other, because a kernel works in place.
struct Storage {
  std::size_t bytes = 0, offset = 0;
  int first_step = 0, last_step = 0;
};

void note_lifetimes(StepPlan& plan) {
  const auto touch = [&](int id, int step) {
    Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
    if (buffer.first_step < 0) buffer.first_step = step;
    buffer.last_step = step;
  };
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(s)];
    for (const int id : step.inputs) {
      Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      if (step.phase == graph::Phase::backward && buffer.first_step >= 0 &&
          plan.steps[static_cast<std::size_t>(buffer.first_step)].phase == graph::Phase::forward)
        buffer.saved = true;
      touch(id, s);
    }
    for (const int id : step.outputs) touch(id, s);
    if (step.workspace >= 0) touch(step.workspace, s);
  }
}

// Gives each slab buffer a storage; an output takes over the storage of an input that dies in the same step.
std::vector<Storage> share_in_place(const CompiledStep& compiled, std::vector<int>& storage_of) {
  const StepPlan& plan = compiled.plan;
  std::vector<Storage> storages;
  storage_of.assign(plan.buffers.size(), -1);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (const auto& [output, input] : compiled.kernels[s]->io().in_place) {
      const int from = step.inputs[static_cast<std::size_t>(input)],
                to = step.outputs[static_cast<std::size_t>(output)];
      const Buffer &src = plan.buffers[static_cast<std::size_t>(from)],
                   &dst = plan.buffers[static_cast<std::size_t>(to)];
      if (src.region != Region::slab || dst.region != Region::slab || src.bytes != dst.bytes) continue;
      if (src.last_step != static_cast<int>(s) ||
          std::count(step.inputs.begin(), step.inputs.end(), from) > 1)
        continue;
      const int storage = storage_of[static_cast<std::size_t>(from)];
      if (storage < 0) continue;
      storage_of[static_cast<std::size_t>(to)] = storage;
      storages[static_cast<std::size_t>(storage)].last_step =
          std::max(storages[static_cast<std::size_t>(storage)].last_step, dst.last_step);
      break;
    }
    std::vector<int> made = step.outputs;
    if (step.workspace >= 0) made.push_back(step.workspace);
    for (const int id : made) {
      const Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      if (buffer.region != Region::slab || storage_of[static_cast<std::size_t>(id)] >= 0) continue;
      storage_of[static_cast<std::size_t>(id)] = static_cast<int>(storages.size());
      storages.push_back({buffer.bytes, 0, buffer.first_step, buffer.last_step});
    }
  }
  return storages;
}

// Places the largest first, each at the lowest offset that is free during its lifetime (Pisarchyk and Lee,
// 2020, call this greedy by size). Returns the height.
std::size_t place_by_size(std::vector<Storage>& storages) {
  std::vector<std::size_t> order(storages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return storages[a].bytes > storages[b].bytes; });
  std::vector<std::size_t> placed;  // sorted by offset
  std::size_t height = 0;
  for (const std::size_t id : order) {
    Storage& storage = storages[id];
    std::size_t offset = 0;
    for (const std::size_t other_id : placed) {
      const Storage& other = storages[other_id];
      if (other.last_step < storage.first_step || storage.last_step < other.first_step) continue;
      if (other.offset >= offset + storage.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    storage.offset = offset;
    height = std::max(height, offset + storage.bytes);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), id,
                      [&](std::size_t a, std::size_t b) { return storages[a].offset < storages[b].offset; }),
                  id);
  }
  return height;
}

}  // namespace

void place_buffers(CompiledStep& compiled, bool share) {
  StepPlan& plan = compiled.plan;
  note_lifetimes(plan);
  std::vector<int> storage_of;
  std::vector<Storage> storages = share_in_place(compiled, storage_of);
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
