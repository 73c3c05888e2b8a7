#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/elementwise/elementwise_kernels.h"

namespace trainyard::backend::cuda::device {

// Works on each of `rows` rows. T: float or __nv_bfloat16. dst may be src, d_src may be d_dst or dst.
template <typename T>
void softmax(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* src, T* dst);
template <typename T>
void softmax_grad(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst,
                  T* d_src);

struct CrossEntropyLabels {
  const std::int32_t* integers;  // one a row; null: soft ones
  const float* soft;             // rows x classes
  float smoothing;
};

struct CrossEntropyShape {
  std::int64_t rows, classes;
};

// T: float or __nv_bfloat16. `row_losses` holds `rows` floats; `counter` is 0 before and after. d_logits, for
// d_loss = 1, may be null.
template <typename T>
void softmax_cross_entropy(cudaStream_t stream, CrossEntropyShape shape, const T* logits,
                           const CrossEntropyLabels& labels, float* loss, float* probabilities, T* d_logits,
                           float* row_losses, std::uint32_t* counter);
template <typename T>
void softmax_cross_entropy_grad(cudaStream_t stream, CrossEntropyShape shape, const float* d_loss,
                                const float* probabilities, const CrossEntropyLabels& labels, T* d_logits);

// Rows are steps x batch; step t of sequence n counts where t < lengths[n] and its label is not kNoLabel.
// Rows of logits and of their gradient are `stride` numbers apart; those behind the classes become zeros.
struct SequenceShape {
  std::int64_t steps, batch, classes, stride;
};
struct SequenceLabels {
  const std::int32_t *labels, *lengths;
  static constexpr std::int32_t kNoLabel = -1;  // ops::kNoLabel
};

// T: float or __nv_bfloat16. There are less than 2^31 rows. `parts` holds two floats for each row; `counter`
// is 0 before and after. d_logits may be logits. `share` holds one float: the gradient first counts the
// steps, in a launch of its own.
template <typename T>
void sequence_cross_entropy(cudaStream_t stream, const SequenceShape& shape, const T* logits,
                            const SequenceLabels& labels, float* loss, float* log_sums, float* parts,
                            std::uint32_t* counter);
template <typename T>
void sequence_cross_entropy_grad(cudaStream_t stream, const SequenceShape& shape, const float* d_loss,
                                 const T* logits, const float* log_sums, const SequenceLabels& labels,
                                 float* share, T* d_logits);

struct ClassifyShape {
  std::int64_t rows, inputs;
  int classes;  // at most kMostClasses
  static constexpr int kMostClasses = 32;
};

// ops::classify_op in one launch. T: float or __nv_bfloat16. `row_losses` holds `rows` floats; `counter` is 0
// before and after.
template <typename T>
struct Classify {
  const T *src, *weight;
  const float* bias;
  const std::int32_t* labels;
  float smoothing, mask_scale;
  Dropout dropout;  // of src, where `dropped` is not null
  T* dropped;
  T *logits, *d_logits, *d_src;
  float *loss, *probabilities, *row_losses;
  std::uint32_t* counter;
};
template <typename T>
void classify(cudaStream_t stream, const ClassifyShape& shape, const Classify<T>& at);

}  // namespace trainyard::backend::cuda::device
