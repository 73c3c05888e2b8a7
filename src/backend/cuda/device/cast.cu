#include "backend/cuda/device/cast.h"

#include "backend/cuda/device/chunks.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename From>
__device__ inline void gather_quad(const CastTensor& tensor, std::int64_t at, float (&quad)[4]) {
  const auto* src = static_cast<const From*>(tensor.src);
  if (tensor.walk.is_dense()) return load_quad(src, at, tensor.elements, quad);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    quad[i] = at + i < tensor.elements ? to_float(src[tensor.walk.offset(static_cast<std::uint32_t>(at + i))])
                                       : 0.0f;
}

__global__ void __launch_bounds__(kThreads) cast_chunks(const __grid_constant__ Chunks<CastTensor> chunks) {
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const CastTensor& tensor = chunks.tensors[chunks.tensor_of[chunk]];
    const std::int64_t first = (chunk - tensor.first_chunk) * kChunkElements + threadIdx.x * 4;
    float quads[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (tensor.from_bf16)
        gather_quad<bf16>(tensor, first + q * kThreads * 4, quads[q]);
      else
        gather_quad<float>(tensor, first + q * kThreads * 4, quads[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (tensor.to_bf16)
        store_quad(static_cast<bf16*>(tensor.dst), first + q * kThreads * 4, tensor.elements, quads[q]);
      else
        store_quad(static_cast<float*>(tensor.dst), first + q * kThreads * 4, tensor.elements, quads[q]);
    }
  }
}

}  // namespace

void cast(cudaStream_t stream, const Chunks<CastTensor>& chunks) {
  if (chunks.count == 0) return;
  cast_chunks<<<grid_for(chunks), kThreads, 0, stream>>>(chunks);
  check_launch("cast");
}

}  // namespace trainyard::backend::cuda::device
