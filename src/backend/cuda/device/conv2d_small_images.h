#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// A convolution with stride 1 over images so small that several rows with all their channels lie in shared
// memory, on the matrix units: bf16, or f32 rounded to tf32. Everything lies channels last. `channels` are
// summed over, `outputs` are made: the gradient of src is the same with both exchanged and the weights
// turned.
struct SmallImages {
  int batch, height, width, channels;
  int out_h, out_w, outputs;
  int kernel, pad_top, pad_left;
  std::size_t shared_limit = 0;  // bytes of shared memory that a block may have; for the decline_ functions

  // The reason why there is no kernel for these sizes; null: there is one.
  const char* decline_forward() const;  // bf16 only
  template <typename T>
  const char* decline_d_src() const;  // of the sizes as d_src has them
  template <typename T>
  const char* decline_d_weight() const;
};

// pool: 0, or 2 for a max pool of 2x2 with stride 2 behind the activation; then dst is pooled, and `choice`
// says where from. bias may be null.
void conv2d_small_images(cudaStream_t stream, const SmallImages& sizes, const void* src, const void* weight,
                         const float* bias, Activation activation, int pool, void* dst, std::uint8_t* choice);
// weight (channels, kernel, kernel, outputs): as the forward convolution has it, whose outputs are
// `channels`.
template <typename T>
void conv2d_d_src_small_images(cudaStream_t stream, const SmallImages& sizes, const T* d_dst, const T* weight,
                               T* d_src);

// d_dst (batch, out_h, out_w, outputs), src (batch, height, width, channels); d_bias may be null.
std::size_t conv2d_d_weight_small_images_workspace(const SmallImages& sizes, int multiprocessors);
template <typename T>
void conv2d_d_weight_small_images(cudaStream_t stream, const SmallImages& sizes, int multiprocessors,
                                  const T* d_dst, const T* src, float* workspace, T* d_weight, float* d_bias);

}  // namespace trainyard::backend::cuda::device
