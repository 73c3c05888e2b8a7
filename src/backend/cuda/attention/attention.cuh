#pragma once

#include "backend/cuda/attention/attention_kernels.h"
#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

// All kernels of attention say alike which pairs of a query and a key count, and which are dropped.

__device__ inline int keys_of_sequence(const AttentionShape& shape, int n) {
  return shape.lengths == nullptr ? shape.steps : min(max(shape.lengths[n], 0), shape.steps);
}

// The number of the first keys that step t sees; `keys` is that of its sequence.
__device__ inline int seen_by(const AttentionShape& shape, int keys, int t) {
  return shape.causal ? min(keys, t + 1) : keys;
}

// Probabilities of one head of one sequence, which dropout counts through queries and their keys.
struct ProbabilityDropout {
  Dropout dropout;
  Philox random;
  std::uint64_t first;  // the index of key 0 of query 0
  int steps;

  __device__ ProbabilityDropout(const AttentionShape& shape, int n, int head)
      : dropout(shape.dropout),
        random(shape.dropout.rate > 0 ? random_of(shape.dropout) : Philox(0, 0)),
        first(static_cast<std::uint64_t>(shape.log_sum(n, head)) * static_cast<std::uint64_t>(shape.steps)),
        steps(shape.steps) {}

  __device__ bool drops() const { return dropout.rate > 0; }
  __device__ std::uint64_t index(int t, int s) const {
    return first + static_cast<std::uint64_t>(t) * static_cast<std::uint64_t>(steps) +
           static_cast<std::uint64_t>(s);
  }
  // Returns the factor of a probability: 0 where it is dropped.
  __device__ float kept(int t, int s) const { return dropped(dropout, random.word(index(t, s)), 1.0f); }
  // The same of two keys that follow each other, which mostly share a block of random numbers.
  __device__ float2 kept_pair(int t, int s) const {
    const std::uint64_t at = index(t, s);
    const Philox::Block words = random.block(at / 4);
    const auto place = static_cast<unsigned>(at % 4);
    const auto word_of = [&](unsigned i) {
      return i == 0 ? words[0] : i == 1 ? words[1] : i == 2 ? words[2] : words[3];
    };
    const std::uint32_t next = place == 3 ? random.block(at / 4 + 1)[0] : word_of(place + 1);
    return {dropped(dropout, word_of(place), 1.0f), dropped(dropout, next, 1.0f)};
  }
};

// Blocks are numbered through all heads of all sequences, tile by tile; where queries see what is before
// them, the last tiles take longest and begin first.
struct TileOfBlock {
  int tile, n, head;

  __device__ TileOfBlock(int tiles, int sequences, int heads, bool last_first) {
    const auto of_tile = static_cast<unsigned>(sequences * heads);
    const auto number = static_cast<int>(blockIdx.x / of_tile);
    const auto rest = static_cast<int>(blockIdx.x % of_tile);
    tile = last_first ? tiles - 1 - number : number;
    n = rest / heads;
    head = rest % heads;
  }
};

}  // namespace trainyard::backend::cuda::device
