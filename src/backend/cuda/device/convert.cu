#include "backend/cuda/device/convert.h"

#include "backend/cuda/device/elementwise.cuh"

namespace trainyard::backend::cuda::device {

template <typename From, typename To>
void convert(cudaStream_t stream, const From* src, To* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [] __device__(float x) { return x; }, dst, src);
}

template void convert(cudaStream_t, const float*, bf16*, std::int64_t);
template void convert(cudaStream_t, const bf16*, float*, std::int64_t);

}  // namespace trainyard::backend::cuda::device
