#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// A thread keeps so many numbers of its row in registers, so that a row is read once.
constexpr int kKept = 32;

template <typename T, int kWidth>
__device__ inline void load_vector(const T* from, float (&to)[kWidth]) {
  const auto loaded = *reinterpret_cast<const Vector<T, kWidth>*>(from);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) to[i] = to_float(loaded.at[i]);
}

template <typename T, int kWidth>
__device__ inline void store_vector(T* to, const float (&from)[kWidth]) {
  Vector<T, kWidth> made;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(from[i]);
  *reinterpret_cast<Vector<T, kWidth>*>(to) = made;
}

// x += term, as it is rounded for `sum`.
template <typename T, int kWidth>
__device__ inline void add_term(const T* term, float (&x)[kWidth], T* sum) {
  float y[kWidth];
  load_vector(term, y);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x[i] = to_float(from_float<T>(x[i] + y[i]));
  store_vector(sum, x);
}

// dst = (src - mean) * inverse * gamma + beta at kWidth neighbours; beta may be null.
template <typename T, int kWidth>
__device__ inline void normalize(const LayerNormVectors& vectors, std::int64_t channel, float mean,
                                 float inverse, const float (&x)[kWidth], T* dst) {
  float gamma[kWidth], beta[kWidth] = {}, y[kWidth];
  load_floats(vectors.gamma + channel, gamma);
  if (vectors.beta != nullptr) load_floats(vectors.beta + channel, beta);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
  store_vector(dst + channel, y);
}

// kPieces: vectors of a row that a thread keeps in registers; 0: any number, and the row is read three times.
template <typename T, int kGroup, int kWidth, int kPieces>
__global__ void __launch_bounds__(kThreads)
    normalize_rows(std::int64_t rows, std::int64_t channels, float epsilon, LayerNormSource<T> source,
                   LayerNormVectors vectors, T* dst) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? channels : 0;
  const T* from = source.src + row * channels;
  T* to = dst + row * channels;
  const auto load_first = [&](std::int64_t channel, float(&x)[kWidth]) {
    load_vector(from + channel, x);
    if (source.term != nullptr)
      add_term(source.term + row * channels + channel, x, source.sum + row * channels + channel);
  };
  // What this thread reads after load_first().
  const T* again = source.term == nullptr ? from : source.sum + row * channels;
  const std::int64_t first = Group::lane() * kWidth;
  constexpr std::int64_t kStride = kGroup * kWidth;
  float kept[kPieces > 0 ? kPieces : 1][kWidth];
  // Calls use(channel, numbers) for every vector of this thread; `fresh`: they are not in registers yet.
  const auto for_vectors = [&](bool fresh, const auto& use) {
    if constexpr (kPieces > 0) {
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        const std::int64_t channel = first + piece * kStride;
        if (channel >= end) continue;
        if (fresh) load_first(channel, kept[piece]);
        use(channel, kept[piece]);
      }
    } else {
      for (std::int64_t channel = first; channel < end; channel += kStride) {
        if (fresh)
          load_first(channel, kept[0]);
        else
          load_vector(again + channel, kept[0]);
        use(channel, kept[0]);
      }
    }
  };
  float sum = 0, squares = 0;
  const bool centred = vectors.mean != nullptr;
  for_vectors(true, [&](std::int64_t, const float(&x)[kWidth]) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum += x[i];
  });
  const float mean = centred ? Group::sum(sum) / static_cast<float>(channels) : 0.0f;
  for_vectors(false, [&](std::int64_t, const float(&x)[kWidth]) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) squares += (x[i] - mean) * (x[i] - mean);
  });
  const float inverse = rsqrtf(Group::sum(squares) / static_cast<float>(channels) + epsilon);
  for_vectors(false, [&](std::int64_t channel, const float(&x)[kWidth]) {
    normalize(vectors, channel, mean, inverse, x, to);
  });
  if (row >= rows || Group::lane() != 0) return;
  vectors.inverse[row] = inverse;
  if (centred) vectors.mean[row] = mean;
}

}  // namespace

template <typename T>
void layer_norm(cudaStream_t stream, std::int64_t rows, std::int64_t channels, float epsilon,
                const LayerNormSource<T>& source, const LayerNormVectors& vectors, T* dst) {
  if (rows == 0) return;
  with_row_groups(rows, channels, [&]<int kGroup>(int blocks) {
    constexpr int kWidth = 16 / sizeof(T), kPieces = kKept / kWidth;
    const auto start = [&](auto kernel) {
      kernel<<<blocks, kThreads, 0, stream>>>(rows, channels, epsilon, source, vectors, dst);
    };
    if (channels % kWidth != 0)
      start(normalize_rows<T, kGroup, 1, 0>);
    else if (channels > kGroup * kKept)
      start(normalize_rows<T, kGroup, kWidth, 0>);
    else if (channels > kGroup * kKept / 2)
      start(normalize_rows<T, kGroup, kWidth, kPieces>);
    else
      start(normalize_rows<T, kGroup, kWidth, kPieces / 2>);
  });
  check_launch("layer_norm");
}

template void layer_norm(cudaStream_t, std::int64_t, std::int64_t, float, const LayerNormSource<float>&,
                         const LayerNormVectors&, float*);
template void layer_norm(cudaStream_t, std::int64_t, std::int64_t, float, const LayerNormSource<bf16>&,
                         const LayerNormVectors&, bf16*);

}  // namespace trainyard::backend::cuda::device
