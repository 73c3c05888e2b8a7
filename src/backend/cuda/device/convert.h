#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// From float to __nv_bfloat16, or back.
template <typename From, typename To>
void convert(cudaStream_t stream, const From* src, To* dst, std::int64_t elements);

}  // namespace trainyard::backend::cuda::device
