#pragma once

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {

// Buffers begin on 64 bytes and own the bytes up to the next 64, so whole vectors may be read and written
// behind the last element; but what lies there must stay zero, so the last vector goes element by element.
template <typename Body, typename Out, typename... In>
__global__ void elementwise_loop(std::int64_t elements, Body body, Out* dst, const In*... src) {
  constexpr int kWidth = static_cast<int>(16 / std::max({sizeof(Out), sizeof(In)...}));
  const std::int64_t vectors = elements / kWidth;
  const auto first = static_cast<std::int64_t>(thread_index()),
             stride = static_cast<std::int64_t>(thread_count());
  for (std::int64_t v = first; v < vectors; v += stride) {
    Vector<Out, kWidth> made;
    const auto apply = [&](const Vector<In, kWidth>&... from) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<Out>(body(to_float(from.at[i])...));
    };
    apply(reinterpret_cast<const Vector<In, kWidth>*>(src)[v]...);
    reinterpret_cast<Vector<Out, kWidth>*>(dst)[v] = made;
  }
  for (std::int64_t i = vectors * kWidth + first; i < elements; i += stride)
    dst[i] = from_float<Out>(body(to_float(src[i])...));
}

// dst[i] = body(src0[i], src1[i], ...) in f32. dst may be one of the sources.
template <typename Body, typename Out, typename... In>
void elementwise(cudaStream_t stream, std::int64_t elements, const Body& body, Out* dst, const In*... src) {
  if (elements == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(elements) * std::max({sizeof(Out), sizeof(In)...});
  elementwise_loop<<<grid_for(bytes / 16 + 1), kThreads, 0, stream>>>(elements, body, dst, src...);
  check_launch("elementwise");
}

}  // namespace trainyard::backend::cuda::device
