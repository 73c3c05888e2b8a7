#include "backend/cuda/experts/experts_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// Words of any rows, a thread each.
template <typename Word>
__global__ void __launch_bounds__(kThreads)
    copy_rows(std::int64_t choices, std::int64_t of_row, std::int64_t words, const Word* __restrict__ src,
              const std::int32_t* __restrict__ place, Word* __restrict__ dst) {
  const auto all = static_cast<std::int64_t>(thread_count());
  for (auto i = static_cast<std::int64_t>(thread_index()); i < choices * words; i += all) {
    const std::int64_t choice = i / words, word = i - choice * words, to = place[choice];
    if (to >= 0 && to < choices) dst[to * words + word] = src[choice / of_row * words + word];
  }
}

// A thread makes kWidth neighbours of a row of dst. gates may be null.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_choices(ChoiceSizes sizes, const T* __restrict__ src, const float* __restrict__ gates,
                const std::int32_t* __restrict__ place, T* __restrict__ dst) {
  const std::int64_t vectors = sizes.width / kWidth, all = static_cast<std::int64_t>(thread_count());
  for (auto v = static_cast<std::int64_t>(thread_index()); v < sizes.rows * vectors; v += all) {
    const std::int64_t row = v / vectors, column = (v - row * vectors) * kWidth;
    float sums[kWidth] = {};
    for (std::int64_t i = row * sizes.choices; i < (row + 1) * sizes.choices; ++i) {
      const std::int64_t from = place[i];
      if (from < 0 || from >= sizes.rows * sizes.choices) continue;
      const float gate = gates == nullptr ? 1.0f : gates[i];
      const auto loaded = *reinterpret_cast<const Vector<T, kWidth>*>(src + from * sizes.width + column);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sums[k] += gate * to_float(loaded.at[k]);
    }
    Vector<T, kWidth> made;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) made.at[k] = from_float<T>(sums[k]);
    *reinterpret_cast<Vector<T, kWidth>*>(dst + row * sizes.width + column) = made;
  }
}

// A warp for each choice. d_src may be src: a thread reads what it writes before, and nobody else does.
template <typename D, typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    grad_choices(ChoiceSizes sizes, const D* __restrict__ d_dst, const T* src,
                 const float* __restrict__ gates, const std::int32_t* __restrict__ place, T* d_src,
                 float* __restrict__ d_gates) {
  const std::int64_t choice = static_cast<std::int64_t>(thread_index()) / 32,
                     choices = sizes.rows * sizes.choices;
  if (choice >= choices) return;
  const std::int64_t at = place[choice];
  if (at < 0 || at >= choices) return;
  const float gate = gates[choice];
  d_dst += choice / sizes.choices * sizes.width;
  src += at * sizes.width;
  d_src += at * sizes.width;
  float sum = 0;
  for (std::int64_t column = threadIdx.x % 32 * kWidth; column < sizes.width; column += 32 * kWidth) {
    const auto d = *reinterpret_cast<const Vector<D, kWidth>*>(d_dst + column);
    const auto x = *reinterpret_cast<const Vector<T, kWidth>*>(src + column);
    Vector<T, kWidth> made;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      sum += to_float(d.at[k]) * to_float(x.at[k]);
      made.at[k] = from_float<T>(gate * to_float(d.at[k]));
    }
    *reinterpret_cast<Vector<T, kWidth>*>(d_src + column) = made;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) d_gates[choice] = sum;
}

}  // namespace

template <typename T>
void dispatch(cudaStream_t stream, const ChoiceSizes& sizes, const T* src, const std::int32_t* place,
              T* dst) {
  const std::int64_t bytes = sizes.width * static_cast<std::int64_t>(sizeof(T)),
                     choices = sizes.rows * sizes.choices;
  with_word(word_bytes(bytes), [&](auto word) {
    using Word = decltype(word);
    const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(Word));
    copy_rows<<<grid_for(static_cast<std::size_t>(choices * words)), kThreads, 0, stream>>>(
        choices, sizes.choices, words, reinterpret_cast<const Word*>(src), place,
        reinterpret_cast<Word*>(dst));
  });
  check_launch("dispatch");
}

template <typename T>
void sum_choices(cudaStream_t stream, const ChoiceSizes& sizes, const T* src, const float* gates,
                 const std::int32_t* place, T* dst) {
  const auto start = [&]<int kWidth>() {
    const std::int64_t vectors = sizes.rows * (sizes.width / kWidth);
    add_choices<T, kWidth>
        <<<grid_for(static_cast<std::size_t>(vectors)), kThreads, 0, stream>>>(sizes, src, gates, place, dst);
  };
  constexpr int kWide = 16 / sizeof(T);
  if (sizes.width % kWide == 0)
    start.template operator()<kWide>();
  else
    start.template operator()<1>();
  check_launch("sum_choices");
}

template <typename D, typename T>
void combine_grad(cudaStream_t stream, const ChoiceSizes& sizes, const D* d_dst, const T* src,
                  const float* gates, const std::int32_t* place, T* d_src, float* d_gates) {
  const std::int64_t choices = sizes.rows * sizes.choices, of_block = kThreads / 32;
  const auto blocks = static_cast<unsigned>((choices + of_block - 1) / of_block);
  constexpr int kWide = 16 / (sizeof(D) > sizeof(T) ? sizeof(D) : sizeof(T));
  if (sizes.width % kWide == 0)
    grad_choices<D, T, kWide>
        <<<blocks, kThreads, 0, stream>>>(sizes, d_dst, src, gates, place, d_src, d_gates);
  else
    grad_choices<D, T, 1><<<blocks, kThreads, 0, stream>>>(sizes, d_dst, src, gates, place, d_src, d_gates);
  check_launch("combine_grad");
}

#define TRAINYARD_CHOICES(T)                                                                               \
  template void dispatch(cudaStream_t, const ChoiceSizes&, const T*, const std::int32_t*, T*);             \
  template void sum_choices(cudaStream_t, const ChoiceSizes&, const T*, const float*, const std::int32_t*, \
                            T*);                                                                           \
  template void combine_grad(cudaStream_t, const ChoiceSizes&, const float*, const T*, const float*,       \
                             const std::int32_t*, T*, float*);                                             \
  template void combine_grad(cudaStream_t, const ChoiceSizes&, const bf16*, const T*, const float*,        \
                             const std::int32_t*, T*, float*);
TRAINYARD_CHOICES(float)
TRAINYARD_CHOICES(bf16)

}  // namespace trainyard::backend::cuda::device
