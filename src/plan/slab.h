#pragma once

#include "plan/step_plan.h"

// The slab is the one array that temporaries, saved activations and workspaces share by lifetime.
namespace trainyard::plan {

// Says which buffers one step uses, by their numbers. Others own the lists.
struct SlabStep {
  std::span<const int> inputs, outputs;
  int workspace = -1;
  std::span<const std::pair<int, int>> in_place;  // as backend::KernelIo has it
};

// Bytes that several buffers share one after the other, because a kernel works in place.
struct Storage {
  std::size_t bytes = 0, offset = 0;
  int first_step = 0, last_step = 0;
};

// The steps in which a buffer is made or read for the first time and for the last; -1: in none.
struct Lifetime {
  int first_step = -1, last_step = -1;
};

std::vector<Lifetime> lifetimes_of(const std::vector<SlabStep>& steps, std::size_t buffers);

// Gives each buffer a storage; an output takes over the storage of an input that dies in the same step.
// `bytes` are 0 for buffers that lie elsewhere, whose entry in `storage_of` becomes -1.
std::vector<Storage> share_in_place(const std::vector<SlabStep>& steps, const std::vector<std::size_t>& bytes,
                                    const std::vector<Lifetime>& lifetimes, std::vector<int>& storage_of);

// Gives each storage an offset. Returns the height of the slab.
std::size_t place_by_size(std::vector<Storage>& storages);

// Returns the bytes that live in each step. No placement is lower than the most of them.
std::vector<std::size_t> living_bytes(const std::vector<Storage>& storages, std::size_t steps);

}  // namespace trainyard::plan
