#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/chunks.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

template <typename T>
void activation(cudaStream_t stream, Activation activation, const T* src, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return activate(activation, x); }, dst, src);
}

template <typename T>
void activation_grad(cudaStream_t stream, Activation activation, const T* d_dst, const T* dst, T* d_src,
                     std::int64_t elements) {
  elementwise(
      stream, elements,
      [=] __device__(float g, float y) {
        return g * activation_slope(activation, y) * activation.gradient_scale;
      },
      d_src, d_dst, dst);
}

template void activation(cudaStream_t, Activation, const float*, float*, std::int64_t);
template void activation(cudaStream_t, Activation, const bf16*, bf16*, std::int64_t);
template void activation_grad(cudaStream_t, Activation, const float*, const float*, float*, std::int64_t);
template void activation_grad(cudaStream_t, Activation, const bf16*, const bf16*, bf16*, std::int64_t);

namespace {

// kCount: how many terms, so that their loads are in flight together; 0: as the terms say.
template <typename T, int kWidth, int kCount>
__device__ inline void add_at(const Terms<T>& terms, Activation activation, T* dst, std::int64_t at) {
  using Lane = Vector<T, kWidth>;
  const auto load = [&](const T* from) { return *reinterpret_cast<const Lane*>(from + at); };
  float sums[kWidth] = {};
  const int count = kCount > 0 ? kCount : terms.count;
#pragma unroll
  for (int term = 0; term < count; ++term) {
    const Lane loaded = load(terms.at[term]);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[i] += to_float(loaded.at[i]);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sums[i] = activate(activation, sums[i]);
  if (terms.mask != nullptr) {
    const Lane mask = load(terms.mask);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[i] = to_float(mask.at[i]) > 0 ? sums[i] : 0.0f;
  }
  Lane made;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(sums[i]);
  *reinterpret_cast<Lane*>(dst + at) = made;
}

template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads)
    add_terms(const __grid_constant__ Terms<T> terms, Activation activation, T* dst, std::int64_t elements) {
  constexpr int kWidth = 16 / sizeof(T);
  const std::int64_t vectors = elements / kWidth;
  const auto first = static_cast<std::int64_t>(thread_index()),
             stride = static_cast<std::int64_t>(thread_count());
  for (std::int64_t v = first; v < vectors; v += stride)
    add_at<T, kWidth, kCount>(terms, activation, dst, v * kWidth);
  for (std::int64_t i = vectors * kWidth + first; i < elements; i += stride)
    add_at<T, 1, kCount>(terms, activation, dst, i);
}

}  // namespace

template <typename T>
void add(cudaStream_t stream, const Terms<T>& terms, Activation activation, T* dst, std::int64_t elements) {
  const auto start = [&](auto kernel) {
    kernel<<<grid_for(static_cast<std::size_t>(elements) * sizeof(T) / 16 + 1), kThreads, 0, stream>>>(
        terms, activation, dst, elements);
  };
  if (terms.count == 1) start(add_terms<T, 1>);
  if (terms.count == 2) start(add_terms<T, 2>);
  if (terms.count == 3) start(add_terms<T, 3>);
  if (terms.count > 3) start(add_terms<T, 0>);
  check_launch("add");
}

template void add(cudaStream_t, const Terms<float>&, Activation, float*, std::int64_t);
template void add(cudaStream_t, const Terms<bf16>&, Activation, bf16*, std::int64_t);

template <typename T>
void scale(cudaStream_t stream, float factor, const T* src, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return factor * x; }, dst, src);
}

template <typename T>
void multiply(cudaStream_t stream, const T* a, const T* b, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x, float y) { return x * y; }, dst, a, b);
}

template <typename T>
void fill(cudaStream_t stream, float value, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__() { return value; }, dst);
}

namespace {

__global__ void fill_integers(std::int32_t value, std::int32_t* dst, std::int64_t elements) {
  for (auto i = static_cast<std::int64_t>(thread_index()); i < elements;
       i += static_cast<std::int64_t>(thread_count()))
    dst[i] = value;
}

}  // namespace

void fill(cudaStream_t stream, std::int32_t value, std::int32_t* dst, std::int64_t elements) {
  if (elements == 0) return;
  fill_integers<<<grid_for(static_cast<std::size_t>(elements)), kThreads, 0, stream>>>(value, dst, elements);
  check_launch("fill");
}

template <typename T>
void scale_by(cudaStream_t stream, float factor, const T* scalar, const T* src, T* dst,
              std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return factor * to_float(*scalar) * x; }, dst, src);
}

template void scale(cudaStream_t, float, const float*, float*, std::int64_t);
template void scale(cudaStream_t, float, const bf16*, bf16*, std::int64_t);
template void multiply(cudaStream_t, const float*, const float*, float*, std::int64_t);
template void multiply(cudaStream_t, const bf16*, const bf16*, bf16*, std::int64_t);
template void fill(cudaStream_t, float, float*, std::int64_t);
template void fill(cudaStream_t, float, bf16*, std::int64_t);
template void scale_by(cudaStream_t, float, const float*, const float*, float*, std::int64_t);
template void scale_by(cudaStream_t, float, const bf16*, const bf16*, bf16*, std::int64_t);

namespace {

// One block of Philox is four neighbours.
template <typename T>
__global__ void in_logical_order(Dropout dropout, std::int64_t elements, const T* src, T* dst) {
  const Philox random = random_of(dropout);
  const std::int64_t quads = (elements + 3) / 4;
  for (auto q = static_cast<std::int64_t>(thread_index()); q < quads;
       q += static_cast<std::int64_t>(thread_count())) {
    float x[4];
    load_quad(src, q * 4, elements, x);
    const Philox::Block words = random.block(static_cast<std::uint64_t>(q));
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = dropped(dropout, words[i], x[i]);
    store_quad(dst, q * 4, elements, x);
  }
}

// One block of Philox is four neighbouring pixels of one channel; neighbouring threads take neighbouring
// channels. REQUIRES: pixels a multiple of 4.
template <typename T>
__global__ void channels_last(Dropout dropout, DropoutShape shape, const T* src, T* dst) {
  const Philox random = random_of(dropout);
  const std::int64_t quads = shape.pixels / 4;
  for (auto i = static_cast<std::int64_t>(thread_index()); i < shape.images * quads * shape.channels;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t channel = i % shape.channels, quad = i / shape.channels % quads;
    const std::int64_t image = i / shape.channels / quads;
    const std::int64_t plane = image * shape.channels + channel;
    const Philox::Block words = random.block(static_cast<std::uint64_t>(plane * quads + quad));
    const std::int64_t first = (image * shape.pixels + quad * 4) * shape.channels + channel;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const std::int64_t at = first + p * shape.channels;
      dst[at] = from_float<T>(dropped(dropout, words[p], to_float(src[at])));
    }
  }
}

template <typename T>
__global__ void channels_last_any(Dropout dropout, DropoutShape shape, const T* src, T* dst) {
  const Philox random = random_of(dropout);
  for (auto i = static_cast<std::int64_t>(thread_index()); i < shape.images * shape.pixels * shape.channels;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t channel = i % shape.channels, pixel = i / shape.channels % shape.pixels;
    const std::int64_t image = i / shape.channels / shape.pixels;
    const std::int64_t logical = (image * shape.channels + channel) * shape.pixels + pixel;
    const std::uint32_t word = random.word(static_cast<std::uint64_t>(logical));
    dst[i] = from_float<T>(dropped(dropout, word, to_float(src[i])));
  }
}

}  // namespace

template <typename T>
void dropout(cudaStream_t stream, const Dropout& dropout, const DropoutShape& shape, const T* src, T* dst) {
  const std::int64_t elements = shape.images * shape.pixels * shape.channels;
  if (elements == 0) return;
  const auto quads = static_cast<std::size_t>(elements + 3) / 4;
  if (shape.channels == 1 || shape.pixels == 1)
    in_logical_order<<<grid_for(quads), kThreads, 0, stream>>>(dropout, elements, src, dst);
  else if (shape.pixels % 4 == 0)
    channels_last<<<grid_for(quads), kThreads, 0, stream>>>(dropout, shape, src, dst);
  else
    channels_last_any<<<grid_for(quads * 4), kThreads, 0, stream>>>(dropout, shape, src, dst);
  check_launch("dropout");
}

template void dropout(cudaStream_t, const Dropout&, const DropoutShape&, const float*, float*);
template void dropout(cudaStream_t, const Dropout&, const DropoutShape&, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
