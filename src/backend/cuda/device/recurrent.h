#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// One step of a recurrent layer besides its matrix products (ops/recurrent.h). The number of gates tells the
// cell: 1 rnn, 3 gru, 4 lstm.
struct StepSizes {
  std::int64_t batch, hidden;
  int gates;
};

// All (batch, gates * hidden) or (batch, hidden). T: float or __nv_bfloat16.
template <typename T>
struct ForwardStep {
  const T* x;  // W x; may be where `made_gates` is
  const float* bias;
  const T *u, *before;  // U h, and h itself; null: the state before is zero
  float* cell;          // of lstm, read unless the state before is zero, and written
  T* dst;
  T *made_gates, *inner;  // null: not wanted
};
template <typename T>
void recurrent_step(cudaStream_t stream, const StepSizes& sizes, const ForwardStep<T>& step);

template <typename T>
struct BackwardStep {
  const T* d_dst;
  const T* through_u;  // gradient that dst gets from U h of the step behind it; null: there is none
  float* carried;  // d_c of lstm, what h passes on in gru; read unless there is no step behind, and written
  const T *dst, *gates, *inner;    // of this step
  const T *before, *inner_before;  // dst and inner of the step before; null: zero
  T *d_x, *d_u;                    // of W x + b, and of U h where it differs: gru
};
template <typename T>
void recurrent_step_grad(cudaStream_t stream, const StepSizes& sizes, const BackwardStep<T>& step);

}  // namespace trainyard::backend::cuda::device
