#include "backend/cuda/device/dense_plain.h"

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename T>
__global__ void multiply(PlainProduct p, const T* a, const T* b, T* dst) {
  for (auto i = static_cast<std::int64_t>(thread_index()); i < p.m * p.n;
       i += static_cast<std::int64_t>(thread_count())) {
    const T* row = a + i / p.n * p.a_row;
    const T* column = b + i % p.n * p.b_column;
    float sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k)
      sum += to_float(row[k * p.a_inner]) * to_float(column[k * p.b_inner]);
    dst[i] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void plain_product(cudaStream_t stream, const PlainProduct& product, const T* a, const T* b, T* dst) {
  const int blocks = grid_for(static_cast<std::size_t>(product.m * product.n));
  multiply<<<blocks, kThreads, 0, stream>>>(product, a, b, dst);
  check_launch("plain_product");
}

template void plain_product(cudaStream_t, const PlainProduct&, const float*, const float*, float*);
template void plain_product(cudaStream_t, const PlainProduct&, const bf16*, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
