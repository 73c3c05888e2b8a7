#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace trainyard::backend::cuda::device {

// A StepSizes is one step of a recurrent layer besides its matrix products (ops/recurrent.h). The number of
// gates tells the cell: 1 rnn, 3 gru, 4 lstm.
struct StepSizes {
  std::int64_t batch, hidden;
  int gates;
};

// All (batch, gates * hidden) or (batch, hidden). T: float or __nv_bfloat16.
template <typename T>
struct ForwardStep {
  const T* x;                     // W x; may be where `made_gates` is
  const float *bias, *last_bias;  // the second one of gru, added to U h of its last gate; null: none
  const T *u, *before;            // U h, and h itself; null: the state before is zero
  float* cell;                    // of lstm, read unless the state before is zero, and written
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

// A ResidentSizes is a whole sequence in one launch, in bf16: each block keeps its part of U in registers,
// and after each step all blocks of a part of the batch wait for each other. The number of gates tells the
// cell: 1 rnn, 3 gru, 4 lstm.
struct ResidentSizes {
  static constexpr int kUnits = 8, kBatch = 32;  // of one block
  static constexpr int kMostHidden = 1024;

  std::int64_t steps, batch, hidden;  // hidden: a multiple of 4
  int gates;

  unsigned groups() const { return static_cast<unsigned>((batch + kBatch - 1) / kBatch); }
  unsigned blocks_of_group() const { return static_cast<unsigned>((hidden + kUnits - 1) / kUnits); }
};

// Tensors as ops/recurrent.h has them.
struct ResidentForward {
  const __nv_bfloat16 *x, *recurrent_weight;  // x: W x of all steps; may be where `gates` is
  const float* bias;
  __nv_bfloat16 *dst, *gates, *inner;  // the last two null: not wanted
  std::uint32_t* counters;             // two for each group, 0 before and after
};
struct ResidentBackward {
  const __nv_bfloat16 *d_dst, *recurrent_weight, *dst, *gates, *inner;
  __nv_bfloat16 *d_x, *d_u;  // gradients of W x + b and of U h; the same but for gru
  std::uint32_t* counters;
};

// Returns whether all blocks can be on the GPU at once; they wait for each other.
bool resident_fits(const ResidentSizes& sizes, bool backward, int multiprocessors);
void recurrent_resident(cudaStream_t stream, const ResidentSizes& sizes, const ResidentForward& tensors);
void recurrent_resident_grad(cudaStream_t stream, const ResidentSizes& sizes,
                             const ResidentBackward& tensors);

struct EmbeddingSizes {
  std::int64_t ids, vocabulary, width;
};

// dst (ids, width): row ids[i] of table (vocabulary, width), NaN where there is none. T: float or
// __nv_bfloat16.
template <typename T>
void embedding(cudaStream_t stream, const EmbeddingSizes& sizes, const T* table, const std::int32_t* ids,
               T* dst);

// d_table (vocabulary, width): for each row the sum over its occurrences, in an order that depends only on
// the sizes. `parts`: embedding_parts() floats, or null where that is 0.
template <typename T>
void embedding_d_table(cudaStream_t stream, const EmbeddingSizes& sizes, const T* d_dst,
                       const std::int32_t* ids, T* d_table, float* parts);
std::int64_t embedding_parts(const EmbeddingSizes& sizes);

// The same, for any number of rows; the order depends on the ids, too, never on the run. REQUIRES: there are
// ids. `workspace`: embedding_sorted_bytes() on a multiple of 64.
template <typename T>
void embedding_d_table_sorted(cudaStream_t stream, const EmbeddingSizes& sizes, const T* d_dst,
                              const std::int32_t* ids, T* d_table, std::byte* workspace);
std::int64_t embedding_sorted_bytes(const EmbeddingSizes& sizes);

}  // namespace trainyard::backend::cuda::device
