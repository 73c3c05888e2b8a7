#pragma once

#include "backend/cuda/runtime/chunks.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

// A thread's part of a chunk: kQuads times four neighbours, neighbouring threads on neighbouring quads.
inline constexpr int kQuads = static_cast<int>(kChunkElements / (kThreads * 4));

template <typename Tensor>
__device__ inline Tensor tensor_at(const Chunks<Tensor>& chunks, std::uint32_t chunk) {
  if (chunks.few_count == 0) return chunks.tensors[chunks.tensor_of[chunk]];
  std::uint32_t i = 0;
  while (i + 1 < chunks.few_count && chunks.few[i + 1].first_chunk <= chunk) ++i;
  return chunks.few[i];
}

// Calls body(tensor, first element of this thread's first quad) for every chunk of this block; the next quad
// begins kThreads * 4 elements further on.
template <typename Tensor, typename Body>
__device__ inline void for_each_chunk(const Chunks<Tensor>& chunks, const Body& body) {
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const Tensor tensor = tensor_at(chunks, chunk);
    body(tensor, (chunk - tensor.first_chunk) * kChunkElements + threadIdx.x * 4);
  }
}

template <typename Tensor>
int grid_for(const Chunks<Tensor>& chunks) {
  return static_cast<int>(std::min<std::size_t>(chunks.count, kMaxBlocks));
}

// Memory that is touched once a step leaves the cache first, so that what is touched again can stay.
template <typename T>
__device__ inline Vector<T, 4> load_once(const Vector<T, 4>* from) {
  Vector<T, 4> loaded;
  if constexpr (sizeof(loaded) == 16)
    reinterpret_cast<uint4&>(loaded) = __ldcs(reinterpret_cast<const uint4*>(from));
  else
    reinterpret_cast<uint2&>(loaded) = __ldcs(reinterpret_cast<const uint2*>(from));
  return loaded;
}

template <typename T>
__device__ inline void store_once(Vector<T, 4>* to, const Vector<T, 4>& from) {
  if constexpr (sizeof(from) == 16)
    __stcs(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4&>(from));
  else
    __stcs(reinterpret_cast<uint2*>(to), reinterpret_cast<const uint2&>(from));
}

// Four neighbours of a tensor of `elements`; those behind its end are 0. `at` is a multiple of 4.
template <typename T>
__device__ inline void load_quad(const T* from, std::int64_t at, std::int64_t elements, float (&quad)[4]) {
  if (at + 4 <= elements) {
    const Vector<T, 4> loaded = load_once(reinterpret_cast<const Vector<T, 4>*>(from + at));
#pragma unroll
    for (int i = 0; i < 4; ++i) quad[i] = to_float(loaded.at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) quad[i] = at + i < elements ? to_float(from[at + i]) : 0.0f;
  }
}

template <typename T>
__device__ inline void store_quad(T* to, std::int64_t at, std::int64_t elements, const float (&quad)[4]) {
  if (at + 4 <= elements) {
    Vector<T, 4> stored;
#pragma unroll
    for (int i = 0; i < 4; ++i) stored.at[i] = from_float<T>(quad[i]);
    store_once(reinterpret_cast<Vector<T, 4>*>(to + at), stored);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (at + i < elements) to[at + i] = from_float<T>(quad[i]);
  }
}

}  // namespace trainyard::backend::cuda::device
