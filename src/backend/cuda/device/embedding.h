#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

struct EmbeddingSizes {
  std::int64_t ids, vocabulary, width;
};

// dst (ids, width): row ids[i] of table (vocabulary, width), NaN where there is none. T: float or
// __nv_bfloat16.
template <typename T>
void embedding(cudaStream_t stream, const EmbeddingSizes& sizes, const T* table, const std::int32_t* ids,
               T* dst);

// d_table (vocabulary, width): for each row the sum over its occurrences, in an order that depends only on
// the sizes. `parts`: embedding_parts() floats, or null where that is 0.
template <typename T>
void embedding_d_table(cudaStream_t stream, const EmbeddingSizes& sizes, const T* d_dst,
                       const std::int32_t* ids, T* d_table, float* parts);
std::int64_t embedding_parts(const EmbeddingSizes& sizes);

}  // namespace trainyard::backend::cuda::device
