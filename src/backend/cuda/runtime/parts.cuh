#pragma once

#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

// Adds up parts[blocks][numbers], which other blocks left (see is_last_block()), always in the same order, by
// all kBlock threads of a block; calls finish(number, sum) once for every number. `numbers` is a multiple of
// 4, and parts lie on 16 bytes.
template <int kBlock, typename Finish>
__device__ void add_parts_of_blocks(int blocks, int numbers, const float* parts, const Finish& finish) {
  __shared__ float4 of_slice[kBlock];
  const auto add = [](float4& sum, const float4& x) {
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
  };
  const int vectors = numbers / 4, thread = threadIdx.x;
  const int together = vectors < kBlock ? vectors : kBlock;  // vectors side by side; slices share the blocks
  const int slices = kBlock / together, slice = thread / together;
  for (int first = 0; first < vectors; first += together) {
    const int v = first + thread % together;
    float4 sum{};
    if (slice < slices && v < vectors)
#pragma unroll 8
      for (int b = slice; b < blocks; b += slices)
        add(sum, __ldcg(reinterpret_cast<const float4*>(parts) + static_cast<std::int64_t>(b) * vectors + v));
    __syncthreads();  // the vectors before may still be read
    of_slice[thread] = sum;
    __syncthreads();
    if (slice != 0 || v >= vectors) continue;
    for (int s = 1; s < slices; ++s) add(sum, of_slice[s * together + thread]);
    finish(v * 4, sum.x);
    finish(v * 4 + 1, sum.y);
    finish(v * 4 + 2, sum.z);
    finish(v * 4 + 3, sum.w);
  }
}

}  // namespace trainyard::backend::cuda::device
