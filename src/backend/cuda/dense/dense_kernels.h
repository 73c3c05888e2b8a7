#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/update/update_kernels.h"

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
// Computes all layers beside each other. `parts`: floats for dense_chain_parts(), or null where that is 0.
template <typename T>
void dense_chain_d_weight(cudaStream_t stream, const ChainSizes& sizes, const ChainTable<WeightLayer>& layers,
                          float* parts);
std::int64_t dense_chain_parts(const ChainSizes& sizes);

// Dense layers of few outputs, where a matrix product would leave most of its tiles empty.
struct NarrowDense {
  static constexpr int kMostOutputs = 32;

  std::int64_t batch, inputs;
  int outputs;
};

// bias and d_bias may be null. T: float or __nv_bfloat16.
template <typename T>
void dense_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* src, const T* weight,
                  const float* bias, Activation activation, T* dst);
template <typename T>
void dense_d_src_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* weight,
                        T* d_src);
template <typename T>
void dense_d_weight_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* src,
                           T* d_weight, float* d_bias);

// dst[i, j] = sum over k of a[i * a_row + k * a_inner] * b[k * b_inner + j * b_column]; dst lies row by row.
struct PlainProduct {
  std::int64_t m, n, k, a_row, a_inner, b_inner, b_column;
  std::int64_t batch = 1;  // matrices that lie one behind the other
};

// T: float or __nv_bfloat16.
template <typename T>
void plain_product(cudaStream_t stream, const PlainProduct& product, const T* a, const T* b, T* dst);

struct DenseUpdate {
  static constexpr int kMostSamples = 64;

  int samples, outputs, inputs;
  UpdateTensor weight, bias;  // their `gradient` is not used
};

// ops::dense_update_op: d_dst (samples, outputs), src (samples, inputs), in tf32 or bf16. Rows of both are
// multiples of 16 bytes. `scheduled` and most_blocks as in update().
template <typename T>
void dense_update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                  const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src,
                  int most_blocks);

// The same for any size, by simple loops in f32.
template <typename T>
void dense_update_plain(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                        const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src);

}  // namespace trainyard::backend::cuda::device
