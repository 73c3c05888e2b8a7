#include "plan/slab.h"

namespace trainyard::plan {

namespace {

std::size_t index(int id) { return static_cast<std::size_t>(id); }

}  // namespace

std::vector<Lifetime> lifetimes_of(const std::vector<SlabStep>& steps, std::size_t buffers) {
  std::vector<Lifetime> lifetimes(buffers);
  const auto touch = [&](int id, int step) {
    Lifetime& lifetime = lifetimes[index(id)];
    if (lifetime.first_step < 0) lifetime.first_step = step;
    lifetime.last_step = step;
  };
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    const SlabStep& step = steps[index(s)];
    for (const int id : step.inputs) touch(id, s);
    for (const int id : step.outputs) touch(id, s);
    if (step.workspace >= 0) touch(step.workspace, s);
  }
  return lifetimes;
}

std::vector<Storage> share_in_place(const std::vector<SlabStep>& steps, const std::vector<std::size_t>& bytes,
                                    const std::vector<Lifetime>& lifetimes, std::vector<int>& storage_of) {
  std::vector<Storage> storages;
  storage_of.assign(bytes.size(), -1);
  const auto give = [&](int id) {
    if (bytes[index(id)] == 0 || storage_of[index(id)] >= 0) return;
    storage_of[index(id)] = static_cast<int>(storages.size());
    storages.push_back(
        {bytes[index(id)], 0, lifetimes[index(id)].first_step, lifetimes[index(id)].last_step});
  };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const SlabStep& step = steps[s];
    for (const auto& [output, input] : step.in_place) {
      const int from = step.inputs[index(input)], to = step.outputs[index(output)];
      if (bytes[index(from)] == 0 || bytes[index(from)] != bytes[index(to)]) continue;
      if (lifetimes[index(from)].last_step != static_cast<int>(s) ||
          std::count(step.inputs.begin(), step.inputs.end(), from) > 1)
        continue;
      const int storage = storage_of[index(from)];
      if (storage < 0) continue;
      storage_of[index(to)] = storage;
      storages[index(storage)].last_step =
          std::max(storages[index(storage)].last_step, lifetimes[index(to)].last_step);
      break;
    }
    for (const int id : step.outputs) give(id);
    if (step.workspace >= 0) give(step.workspace);
  }
  return storages;
}

// Places the largest first, each at the lowest offset that is free during its lifetime (Pisarchyk and Lee,
// 2020, call this greedy by size).
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

std::vector<std::size_t> living_bytes(const std::vector<Storage>& storages, std::size_t steps) {
  std::vector<std::size_t> begins(steps), ends(steps), living(steps);
  for (const Storage& storage : storages) {
    begins[index(storage.first_step)] += storage.bytes;
    ends[index(storage.last_step)] += storage.bytes;
  }
  std::size_t now = 0;
  for (std::size_t s = 0; s < steps; ++s) {
    living[s] = now += begins[s];
    now -= ends[s];
  }
  return living;
}

}  // namespace trainyard::plan
