#pragma once

#include "backend/cuda/attention/attention_kernels.h"
#include "backend/cuda/elementwise/elementwise.cuh"

namespace trainyard::backend::cuda::device {

// The dropout of the probabilities of one head of one sequence. Random numbers are counted through queries
// and their keys, four of them in a block. To make a block takes about as long as all else that is done with
// its four probabilities, so threads of a warp that want numbers of the same block share them.
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
  __device__ float factor(std::uint32_t word) const { return dropped(dropout, word, 1.0f); }
  // Returns the factor of a probability: 0 where it is dropped.
  __device__ float kept(int t, int s) const { return factor(random.word(index(t, s))); }

  // The factors of rows r and r + 8 and columns c and c + 1, where lane l of a warp has r = l / 4 and
  // c = l % 4 * 2 behind multiples of 8. REQUIRES: all threads of the warp call it.
  // Rows are queries:
  __device__ void kept_of_queries(int t, int s, float (&made)[2][2]) const {
    if (steps % 4 != 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < 2; ++i) made[half][i] = kept(t + half * 8, s + i);
      return;
    }
    // Two neighbouring lanes have the four columns of a block: each makes the block of one row.
    const bool odd = threadIdx.x % 2 == 1;
    const Philox::Block words = random.block(index(t + (odd ? 8 : 0), s & ~3) / 4);
    const std::uint32_t other[2] = {__shfl_xor_sync(0xFFFFFFFFu, odd ? words[0] : words[2], 1),
                                    __shfl_xor_sync(0xFFFFFFFFu, odd ? words[1] : words[3], 1)};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      made[0][i] = factor(odd ? other[i] : words[i]);
      made[1][i] = factor(odd ? words[i + 2] : other[i]);
    }
  }

  // Rows are keys:
  __device__ void kept_of_keys(int t, int s, float (&made)[2][2]) const {
    if (steps % 4 != 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < 2; ++i) made[half][i] = kept(t + i, s + half * 8);
      return;
    }
    // Four lanes have the four keys of a block, for two queries and for two groups of keys: each makes one of
    // these four blocks. In round r lane j gets its number of block (j + r) % 4.
    const int j = threadIdx.x / 4 % 4;
    const Philox::Block words = random.block(index(t + j % 2, (s & ~3) + j / 2 * 8) / 4);
    std::uint32_t given[4] = {words[0], words[3], words[2], words[1]};
    rotate(given, j);
    std::uint32_t got[4];
#pragma unroll
    for (int round = 0; round < 4; ++round)
      got[round] = __shfl_sync(0xFFFFFFFFu, given[round], (threadIdx.x & ~12u) % 32 + (j + round) % 4 * 4);
    rotate(got, j);
#pragma unroll
    for (int block = 0; block < 4; ++block) made[block / 2][block % 2] = factor(got[block]);
  }

 private:
  // numbers[i] becomes what numbers[(i - by) % 4] was.
  __device__ static void rotate(std::uint32_t (&numbers)[4], int by) {
    const bool by_one = by % 2 == 1, by_two = by / 2 == 1;
    const std::uint32_t once[4] = {by_one ? numbers[3] : numbers[0], by_one ? numbers[0] : numbers[1],
                                   by_one ? numbers[1] : numbers[2], by_one ? numbers[2] : numbers[3]};
#pragma unroll
    for (int i = 0; i < 4; ++i) numbers[i] = by_two ? once[(i + 2) % 4] : once[i];
  }
};

}  // namespace trainyard::backend::cuda::device
