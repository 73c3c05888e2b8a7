#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

constexpr int kLanes = 32, kLines = kThreads / kLanes;

// Neighbouring threads have neighbouring elements of dst, and kLines of them share the terms of one.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_apart(const __grid_constant__ AxisSums sums, const T* src, T* dst) {
  __shared__ float parts[kLines][kLanes];
  const int lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  for (std::uint32_t first = blockIdx.x * kLanes; first < sums.elements; first += gridDim.x * kLanes) {
    const std::uint32_t element = first + lane;
    float sum = 0;
    if (element < sums.elements) {
      const T* from = src + sums.element.offset(element);
      for (std::uint32_t term = line; term < sums.terms; term += kLines)
        sum += to_float(from[sums.term.offset(term)]);
    }
    parts[line][lane] = sum;
    __syncthreads();
    if (line == 0 && element < sums.elements) {
      for (int other = 1; other < kLines; ++other) sum += parts[other][lane];
      dst[element] = from_float<T>(sum);
    }
    __syncthreads();
  }
}

// Neighbouring threads have neighbouring terms of one element.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_beside(const __grid_constant__ AxisSums sums, const T* src, T* dst) {
  const int lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  for (std::uint32_t element = blockIdx.x * kLines + line; element < sums.elements;
       element += gridDim.x * kLines) {
    const T* from = src + sums.element.offset(element);
    float sum = 0;
    for (std::uint32_t term = lane; term < sums.terms; term += kLanes)
      sum += to_float(from[sums.term.offset(term)]);
    sum = warp_sum(sum);
    if (lane == 0) dst[element] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void sum_axes(cudaStream_t stream, const AxisSums& sums, const T* src, T* dst) {
  if (sums.elements == 0) return;
  const std::size_t elements = sums.elements;
  const bool terms_are_neighbours = sums.term.rank > 0 && sums.term.axes[sums.term.rank - 1].stride == 1;
  if (terms_are_neighbours)
    sum_beside<<<grid_for(elements, kLines), kThreads, 0, stream>>>(sums, src, dst);
  else
    sum_apart<<<grid_for(elements, kLanes), kThreads, 0, stream>>>(sums, src, dst);
  check_launch("sum_axes");
}

template void sum_axes(cudaStream_t, const AxisSums&, const float*, float*);
template void sum_axes(cudaStream_t, const AxisSums&, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
