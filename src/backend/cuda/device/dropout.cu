#include "backend/cuda/device/dropout.cuh"

#include "backend/cuda/device/chunks.cuh"

namespace trainyard::backend::cuda::device {
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
