#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// The values of ops::SequenceRows, and how many rows there are.
struct StepRows {
  std::int64_t rows, steps;
  bool batch_first;

  constexpr std::int64_t sequences() const { return rows / steps; }
  constexpr std::int64_t step_of(std::int64_t row) const {
    return batch_first ? row % steps : row / sequences();
  }
  constexpr std::int64_t row(std::int64_t sequence, std::int64_t step) const {
    return batch_first ? sequence * steps + step : step * sequences() + sequence;
  }
};

// dst = src + the row of the table that belongs to the step. T and P: float or __nv_bfloat16. dst may be src.
template <typename T, typename P>
void add_positions(cudaStream_t stream, const StepRows& rows, std::int64_t width, const T* src,
                   const P* table, T* dst);

// d_table (positions, width): the sums over the sequences, zero beyond their steps.
template <typename T>
void positions_d_table(cudaStream_t stream, const StepRows& rows, std::int64_t width, std::int64_t positions,
                       const T* d_dst, float* d_table);

// The values of ops::RotaryAttrs. `turns` (head_size / 2, in device memory): by how many turns the angle of a
// pair grows from step to step, so that what is left of a turn is exact for any step.
struct Rotary {
  StepRows rows;
  std::int64_t width;  // of a row
  int heads, head_size;
  bool inverse;
  const double* turns;
  const std::int32_t* first_place;  // of the first step; null: 0
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void rotary(cudaStream_t stream, const Rotary& rotary, const T* src, T* dst);

}  // namespace trainyard::backend::cuda::device
