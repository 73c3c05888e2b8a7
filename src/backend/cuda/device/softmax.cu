#include "backend/cuda/device/softmax.h"

#include "backend/cuda/device/rows.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    softmax_rows(std::int64_t rows, std::int64_t classes, const T* src, T* dst) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? classes : 0;
  src += row * classes;
  dst += row * classes;
  float highest = -INFINITY, sum = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) highest = fmaxf(highest, to_float(src[k]));
  highest = Group::max(highest);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) sum += expf(to_float(src[k]) - highest);
  sum = Group::sum(sum);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    dst[k] = from_float<T>(expf(to_float(src[k]) - highest) / sum);
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    softmax_grad_rows(std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst, T* d_src) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? classes : 0;
  const std::int64_t first = row * classes;
  float mean = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    mean += to_float(d_dst[first + k]) * to_float(dst[first + k]);
  mean = Group::sum(mean);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    d_src[first + k] = from_float<T>(to_float(dst[first + k]) * (to_float(d_dst[first + k]) - mean));
}

}  // namespace

template <typename T>
void softmax(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* src, T* dst) {
  with_row_groups(rows, classes, [&]<int kGroup>(int blocks) {
    softmax_rows<T, kGroup><<<blocks, kThreads, 0, stream>>>(rows, classes, src, dst);
  });
  check_launch("softmax");
}

template <typename T>
void softmax_grad(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst,
                  T* d_src) {
  with_row_groups(rows, classes, [&]<int kGroup>(int blocks) {
    softmax_grad_rows<T, kGroup><<<blocks, kThreads, 0, stream>>>(rows, classes, d_dst, dst, d_src);
  });
  check_launch("softmax_grad");
}

template void softmax(cudaStream_t, std::int64_t, std::int64_t, const float*, float*);
template void softmax(cudaStream_t, std::int64_t, std::int64_t, const bf16*, bf16*);
template void softmax_grad(cudaStream_t, std::int64_t, std::int64_t, const float*, const float*, float*);
template void softmax_grad(cudaStream_t, std::int64_t, std::int64_t, const bf16*, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
