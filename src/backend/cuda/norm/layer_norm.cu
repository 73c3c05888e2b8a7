#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// A thread of a long row keeps so many numbers in registers, so that a row is read once.
constexpr int kKept = 32;

// Returns how many blocks shall run on a multiprocessor where a thread keeps so many numbers.
constexpr int blocks_beside(int kept) { return kept <= 12 ? 6 : kept <= 16 ? 5 : 3; }

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
__device__ inline void add_term(const Vector<T, kWidth>& term, float (&x)[kWidth], T* sum) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x[i] = to_float(from_float<T>(x[i] + to_float(term.at[i])));
  store_vector(sum, x);
}

// Brings the vectors at `at`, at + kStride, ... of the row that begins at `row` into registers. All are on
// their way before one is used. kWhole: the row has all of them.
template <bool kWhole, int kStride, typename T, int kWidth, int kHeld>
__device__ inline void load_vectors(const LayerNormSource<T>& source, std::int64_t row, std::int64_t at,
                                    std::int64_t channels, float (&x)[kHeld][kWidth]) {
  using Lane = Vector<T, kWidth>;
  const auto has = [&](int piece) { return kWhole || at + piece * kStride < channels; };
  Lane loaded[kHeld]{}, term[kHeld]{};
  row += at;
#pragma unroll
  for (int piece = 0; piece < kHeld; ++piece)
    if (has(piece)) loaded[piece] = *reinterpret_cast<const Lane*>(source.src + row + piece * kStride);
  if (source.term != nullptr) {
#pragma unroll
    for (int piece = 0; piece < kHeld; ++piece)
      if (has(piece)) term[piece] = *reinterpret_cast<const Lane*>(source.term + row + piece * kStride);
  }
#pragma unroll
  for (int piece = 0; piece < kHeld; ++piece)
#pragma unroll
    for (int i = 0; i < kWidth; ++i) x[piece][i] = to_float(loaded[piece].at[i]);
  if (source.term == nullptr) return;
#pragma unroll
  for (int piece = 0; piece < kHeld; ++piece)
    if (has(piece)) add_term(term[piece], x[piece], source.sum + row + piece * kStride);
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
// kWhole: every thread has that many.
template <typename T, int kGroup, int kWidth, int kPieces, bool kWhole = false>
__global__ void __launch_bounds__(kThreads, blocks_beside(kPieces* kWidth))
    normalize_rows(std::int64_t rows, std::int64_t channels, float epsilon, LayerNormSource<T> source,
                   LayerNormVectors vectors, T* dst) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  if (row >= rows) return;  // the whole group
  const T* from = source.src + row * channels;
  T* to = dst + row * channels;
  const std::int64_t first = Group::lane() * kWidth;
  constexpr int kStride = kGroup * kWidth;
  float kept[kPieces > 0 ? kPieces : 1][kWidth];
  // This thread reads the row again from here where its registers do not hold it.
  const T* again = source.term == nullptr ? from : source.sum + row * channels;
  // Calls use(channel, numbers) for every vector of this thread; `fresh`: for the first time.
  const auto for_vectors = [&](bool fresh, const auto& use) {
    if constexpr (kPieces > 0) {
      if (fresh) load_vectors<kWhole, kStride>(source, row * channels, first, channels, kept);
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece)
        if (kWhole || first + piece * kStride < channels) use(first + piece * kStride, kept[piece]);
    } else {
      for (std::int64_t channel = first; channel < channels; channel += kStride) {
        if (fresh)
          load_vectors<false, kStride>(source, row * channels, channel, channels, kept);
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
  if (Group::lane() != 0) return;
  vectors.inverse[row] = inverse;
  if (centred) vectors.mean[row] = mean;
}

}  // namespace

template <typename T>
void layer_norm(cudaStream_t stream, std::int64_t rows, std::int64_t channels, float epsilon,
                const LayerNormSource<T>& source, const LayerNormVectors& vectors, T* dst) {
  if (rows == 0) return;
  with_row_groups(rows, channels, [&]<int kGroup>(int blocks) {
    const auto start = [&](auto kernel) {
      kernel<<<blocks, kThreads, 0, stream>>>(rows, channels, epsilon, source, vectors, dst);
    };
    constexpr int kWidth = 16 / sizeof(T), kPieces = kKept / kWidth;
    if constexpr (kGroup == 32) {
      if (!LayerNormPasses::fits_warps(channels)) return start(normalize_rows<T, kGroup, 1, 0>);
      with_pieces(channels, [&]<int kExact, bool kWhole>() {
        start(normalize_rows<T, kGroup, LayerNormPasses::kWarpWidth, kExact, kWhole>);
      });
    } else if (channels % kWidth != 0) {
      start(normalize_rows<T, kGroup, 1, 0>);
    } else if (channels > kGroup * kKept) {
      start(normalize_rows<T, kGroup, kWidth, 0>);
    } else if (channels > kGroup * kKept / 2) {
      start(normalize_rows<T, kGroup, kWidth, kPieces>);
    } else {
      start(normalize_rows<T, kGroup, kWidth, kPieces / 2>);
    }
  });
  check_launch("layer_norm");
}

template void layer_norm(cudaStream_t, std::int64_t, std::int64_t, float, const LayerNormSource<float>&,
                         const LayerNormVectors&, float*);
template void layer_norm(cudaStream_t, std::int64_t, std::int64_t, float, const LayerNormSource<bf16>&,
                         const LayerNormVectors&, bf16*);

}  // namespace trainyard::backend::cuda::device
