#pragma once

#include "backend/cuda/attention/attention_kernels.h"
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

// Blocks are numbered through all heads of all sequences, tile by tile; where queries see what is before
// them, the last tiles take longest and begin first.
struct TileOfBlock {
  int tile, n, head;

  __device__ TileOfBlock(unsigned block, int tiles, int sequences, int heads, bool last_first) {
    const auto of_tile = static_cast<unsigned>(sequences * heads);
    const auto number = static_cast<int>(block / of_tile), rest = static_cast<int>(block % of_tile);
    tile = last_first ? tiles - 1 - number : number;
    n = rest / heads;
    head = rest % heads;
  }
};

}  // namespace trainyard::backend::cuda::device
