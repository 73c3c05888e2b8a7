#include "backend/cuda/attention/position_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <typename T, typename P, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_rows_of_table(StepRows rows, std::int64_t vectors, const T* src, const P* __restrict__ table,
                      T* dst) {
  for (auto v = static_cast<std::int64_t>(thread_index()); v < rows.rows * vectors;
       v += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t row = v / vectors, of_table = rows.step_of(row) * vectors + (v - row * vectors);
    const auto x = reinterpret_cast<const Vector<T, kWidth>*>(src)[v];
    const auto position = reinterpret_cast<const Vector<P, kWidth>*>(table)[of_table];
    Vector<T, kWidth> made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(to_float(x.at[i]) + to_float(position.at[i]));
    reinterpret_cast<Vector<T, kWidth>*>(dst)[v] = made;
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    sum_over_sequences(StepRows rows, std::int64_t vectors, std::int64_t positions, const T* d_dst,
                       float* d_table) {
  for (auto v = static_cast<std::int64_t>(thread_index()); v < positions * vectors;
       v += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t step = v / vectors, column = v - step * vectors;
    Vector<float, kWidth> sums{};
    const std::int64_t sequences = step < rows.steps ? rows.sequences() : 0;
#pragma unroll 4
    for (std::int64_t n = 0; n < sequences; ++n) {
      const auto d = reinterpret_cast<const Vector<T, kWidth>*>(d_dst)[rows.row(n, step) * vectors + column];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sums.at[i] += to_float(d.at[i]);
    }
    reinterpret_cast<Vector<float, kWidth>*>(d_table)[v] = sums;
  }
}

// A thread turns kWidth pairs of a row in this many heads, whose angles are the same.
constexpr int kHeadsOfThread = 4;

struct RotaryItems {
  std::int64_t of_row, head_groups, rest;  // rest: vectors of a row behind the heads
  int vectors;                             // of half a head
};

template <typename T, int kWidth>
__device__ inline void turn_heads(const Rotary& rotary, std::int64_t row, int first_head, int pair,
                                  const T* src, T* dst) {
  using Lane = Vector<T, kWidth>;
  constexpr double kCircle = 6.283185307179586;
  const int first_place = rotary.first_place == nullptr ? 0 : *rotary.first_place;
  const auto step = static_cast<double>(first_place + rotary.rows.step_of(row));
  float sine[kWidth], cosine[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const double turns = step * rotary.turns[pair + i];
    sincosf(static_cast<float>((turns - rint(turns)) * kCircle), &sine[i], &cosine[i]);
    if (rotary.inverse) sine[i] = -sine[i];
  }
  const int half = rotary.head_size / 2;
  const int end = min(first_head + kHeadsOfThread, rotary.heads);
  for (int head = first_head; head < end; ++head) {
    const std::int64_t low = row * rotary.width + head * rotary.head_size + pair;
    const Lane a = *reinterpret_cast<const Lane*>(src + low),
               b = *reinterpret_cast<const Lane*>(src + low + half);
    Lane to_a, to_b;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float x = to_float(a.at[i]), y = to_float(b.at[i]);
      to_a.at[i] = from_float<T>(x * cosine[i] - y * sine[i]);
      to_b.at[i] = from_float<T>(x * sine[i] + y * cosine[i]);
    }
    *reinterpret_cast<Lane*>(dst + low) = to_a;
    *reinterpret_cast<Lane*>(dst + low + half) = to_b;
  }
}

// The items of a row are the vectors of pairs of its groups of heads, and the vectors that are copied.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    turn_rows(Rotary rotary, RotaryItems items, const T* src, T* dst) {
  for (auto i = static_cast<std::int64_t>(thread_index()); i < rotary.rows.rows * items.of_row;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t row = i / items.of_row;
    const int item = static_cast<int>(i - row * items.of_row);
    const int copied = item - static_cast<int>(items.head_groups) * items.vectors;
    if (copied < 0) {
      const int group = item / items.vectors;
      turn_heads<T, kWidth>(rotary, row, group * kHeadsOfThread, (item - group * items.vectors) * kWidth, src,
                            dst);
    } else {
      const std::int64_t at = row * rotary.width + rotary.heads * rotary.head_size + copied * kWidth;
      *reinterpret_cast<Vector<T, kWidth>*>(dst + at) = *reinterpret_cast<const Vector<T, kWidth>*>(src + at);
    }
  }
}

// Calls start.operator()<kWidth>(): the widest vectors that divide `length`.
template <int kWidest, typename Start>
void with_vectors(std::int64_t length, const Start& start) {
  if (length % kWidest == 0)
    start.template operator()<kWidest>();
  else
    start.template operator()<1>();
}

}  // namespace

template <typename T, typename P>
void add_positions(cudaStream_t stream, const StepRows& rows, std::int64_t width, const T* src,
                   const P* table, T* dst) {
  if (rows.rows * width == 0) return;
  with_vectors<static_cast<int>(16 / std::max(sizeof(T), sizeof(P)))>(width, [&]<int kWidth>() {
    const std::int64_t vectors = width / kWidth;
    add_rows_of_table<T, P, kWidth>
        <<<grid_for(static_cast<std::size_t>(rows.rows * vectors)), kThreads, 0, stream>>>(rows, vectors, src,
                                                                                           table, dst);
  });
  check_launch("add_positions");
}

template <typename T>
void positions_d_table(cudaStream_t stream, const StepRows& rows, std::int64_t width, std::int64_t positions,
                       const T* d_dst, float* d_table) {
  if (positions * width == 0) return;
  with_vectors<4>(width, [&]<int kWidth>() {
    const std::int64_t vectors = width / kWidth;
    sum_over_sequences<T, kWidth>
        <<<grid_for(static_cast<std::size_t>(positions * vectors)), kThreads, 0, stream>>>(
            rows, vectors, positions, d_dst, d_table);
  });
  check_launch("positions_d_table");
}

template <typename T>
void rotary(cudaStream_t stream, const Rotary& rotary, const T* src, T* dst) {
  if (rotary.rows.rows * rotary.width == 0) return;
  const std::int64_t half = rotary.head_size / 2, rest = rotary.width - rotary.heads * rotary.head_size;
  with_vectors<16 / sizeof(T)>(std::gcd(half, rotary.width), [&]<int kWidth>() {
    RotaryItems items{};
    items.vectors = static_cast<int>(half / kWidth);
    items.head_groups = (rotary.heads + kHeadsOfThread - 1) / kHeadsOfThread;
    items.rest = src == dst ? 0 : rest / kWidth;
    items.of_row = items.head_groups * items.vectors + items.rest;
    const auto all = static_cast<std::size_t>(rotary.rows.rows * items.of_row);
    turn_rows<T, kWidth><<<grid_for(all), kThreads, 0, stream>>>(rotary, items, src, dst);
  });
  check_launch("rotary");
}

template void add_positions(cudaStream_t, const StepRows&, std::int64_t, const float*, const float*, float*);
template void add_positions(cudaStream_t, const StepRows&, std::int64_t, const float*, const bf16*, float*);
template void add_positions(cudaStream_t, const StepRows&, std::int64_t, const bf16*, const float*, bf16*);
template void add_positions(cudaStream_t, const StepRows&, std::int64_t, const bf16*, const bf16*, bf16*);
template void positions_d_table(cudaStream_t, const StepRows&, std::int64_t, std::int64_t, const float*,
                                float*);
template void positions_d_table(cudaStream_t, const StepRows&, std::int64_t, std::int64_t, const bf16*,
                                float*);
template void rotary(cudaStream_t, const Rotary&, const float*, float*);
template void rotary(cudaStream_t, const Rotary&, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
