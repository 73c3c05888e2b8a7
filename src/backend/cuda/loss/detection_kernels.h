#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "ops/anchors.h"

namespace trainyard::backend::cuda::device {

// Sums of all blocks lie in `parts`, which holds kMostParts floats, and the last block to finish adds them
// up. `counter` is 0 before and after.
struct PartialSums {
  static constexpr int kMostParts = 132 * 16;

  float* parts;
  std::uint32_t* counter;
};

// Copies a block of every image, at a multiple of the stride; sizes are in bytes.
struct BlockCopy {
  std::int64_t images, bytes, src_stride, dst_stride;
};
void copy_blocks(cudaStream_t stream, const BlockCopy& blocks, const std::byte* src, std::byte* dst);

// ops::match_anchors_op. `boxes`: `most` of each image.
struct MatchAnchors {
  ops::Anchors anchors;
  std::int64_t images, most;
  const std::int32_t* boxes;
  std::int32_t* labels;
  float *targets, *share;
};
void match_anchors(cudaStream_t stream, const MatchAnchors& at, const PartialSums& sums);

// ops::focal_loss_op and its gradient. T: float or __nv_bfloat16. d_logits may be logits.
template <typename T>
struct FocalLoss {
  std::int64_t rows, classes;
  float alpha, gamma;
  const T* logits;
  const std::int32_t* labels;
  const float* share;
};
template <typename T>
void focal_loss(cudaStream_t stream, const FocalLoss<T>& at, float* loss, const PartialSums& sums);
template <typename T>
void focal_loss_grad(cudaStream_t stream, const FocalLoss<T>& at, const float* d_loss, T* d_logits);

// ops::box_loss_op and its gradient, likewise.
template <typename T>
struct BoxLoss {
  std::int64_t rows;
  float beta;
  const T* offsets;
  const float* targets;
  const std::int32_t* labels;
  const float* share;
};
template <typename T>
void box_loss(cudaStream_t stream, const BoxLoss<T>& at, float* loss, const PartialSums& sums);
template <typename T>
void box_loss_grad(cudaStream_t stream, const BoxLoss<T>& at, const float* d_loss, T* d_offsets);

}  // namespace trainyard::backend::cuda::device
