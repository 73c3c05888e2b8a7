#pragma once

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

// Dense layers of one small width, one after the other in one launch: a block keeps its rows in shared
// memory, and the weights of the next layers arrive while it computes.
struct ChainSizes {
  static constexpr int kMostLayers = 128, kMostWidth = 128;

  std::int64_t rows;
  int width;  // a multiple of 8
  int layers;
};

// Passed by value: a launch carries its layers with it.
template <typename Layer>
struct ChainTable {
  Layer at[ChainSizes::kMostLayers];
};

struct ForwardLayer {
  const void* weight;
  const float* bias;
  void* dst;  // may be null
};
// src (rows, width); `layers` in their order. T: float or __nv_bfloat16.
template <typename T>
void dense_chain(cudaStream_t stream, const ChainSizes& sizes, const T* src,
                 const ChainTable<ForwardLayer>& layers, Activation activation);

struct BackwardLayer {
  const void* weight;
  const void* dst;  // of the layer before; null: what is made is the gradient of src
  void* made;       // the gradient of the sums that the layer before applied its activation to
};
// From the last layer to the first, in which order `layers` lists them.
template <typename T>
void dense_chain_d_src(cudaStream_t stream, const ChainSizes& sizes, const T* d_sum,
                       const ChainTable<BackwardLayer>& layers, Activation activation);

struct WeightLayer {
  const void *d_sum, *src;
  void* d_weight;
  float* d_bias;
};
// All layers beside each other. `parts`: floats for dense_chain_parts(), or null where that is 0.
template <typename T>
void dense_chain_d_weight(cudaStream_t stream, const ChainSizes& sizes, const ChainTable<WeightLayer>& layers,
                          float* parts);
std::int64_t dense_chain_parts(const ChainSizes& sizes);

}  // namespace trainyard::backend::cuda::device
