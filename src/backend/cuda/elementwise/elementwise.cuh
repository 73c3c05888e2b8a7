#pragma once

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "base/philox.h"

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

// Every kernel that applies an activation while it writes uses activate().

__device__ inline float activate(Activation activation, float x) {
  switch (activation.kind) {
    case ops::Activation::relu:
      return x > 0 ? x : x == x ? 0.0f : x;  // NaN stays NaN
    case ops::Activation::relu6:
      return x > 6 ? 6.0f : x > 0 ? x : x == x ? 0.0f : x;
    case ops::Activation::leaky_relu:
      return x > 0 ? x : activation.slope * x;
    case ops::Activation::sigmoid:
      return 1 / (1 + expf(-x));
    case ops::Activation::tanh:
      return tanhf(x);
    case ops::Activation::none:
      break;
  }
  return x;
}

// Returns the derivative at the place where the output is y.
__device__ inline float activation_slope(Activation activation, float y) {
  switch (activation.kind) {
    case ops::Activation::relu:
      return y > 0 ? 1.0f : 0.0f;
    case ops::Activation::relu6:
      return y > 0 && y < 6 ? 1.0f : 0.0f;
    case ops::Activation::leaky_relu:
      return y > 0 ? 1.0f : activation.slope;
    case ops::Activation::sigmoid:
      return y * (1 - y);
    case ops::Activation::tanh:
      return 1 - y * y;
    case ops::Activation::none:
      break;
  }
  return 1;
}

// Every kernel that applies dropout while it reads uses the functions below.

__device__ inline Philox random_of(const Dropout& dropout) {
  const StepContext step = *dropout.context;
  return {step.seed, mix_streams(static_cast<std::uint64_t>(step.step), dropout.stream)};
}

__device__ inline float dropped(const Dropout& dropout, std::uint32_t word, float x) {
  return to_unit_float(word) >= dropout.rate ? dropout.factor * x : 0.0f;
}

}  // namespace trainyard::backend::cuda::device
