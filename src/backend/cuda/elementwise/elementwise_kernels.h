#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/device.h"
#include "ops/device_attrs.h"

namespace trainyard::backend::cuda::device {

// The op's attributes as kernels take them.
struct Activation {
  ops::Activation kind;
  float slope;
  float gradient_scale = 1;
};

// T: float or __nv_bfloat16.
template <typename T>
void activation(cudaStream_t stream, Activation activation, const T* src, T* dst, std::int64_t elements);
template <typename T>
void activation_grad(cudaStream_t stream, Activation activation, const T* d_dst, const T* dst, T* d_src,
                     std::int64_t elements);

inline constexpr int kMaxTerms = 128;  // they are a kernel's argument

template <typename T>
struct Terms {
  const T* at[kMaxTerms];
  int count = 0;
  const T* mask = nullptr;  // where it is not positive the sum becomes 0; null: nowhere
};

// T: float or __nv_bfloat16. dst may be one of the terms or the mask.
template <typename T>
void add(cudaStream_t stream, const Terms<T>& terms, Activation activation, T* dst, std::int64_t elements);

// Element by element. T: float or __nv_bfloat16; dst may be a source.
template <typename T>
void scale(cudaStream_t stream, float factor, const T* src, T* dst, std::int64_t elements);
template <typename T>
void multiply(cudaStream_t stream, const T* a, const T* b, T* dst, std::int64_t elements);
template <typename T>
void fill(cudaStream_t stream, float value, T* dst, std::int64_t elements);
// dst = factor * *scalar * src, the scalar in device memory
template <typename T>
void scale_by(cudaStream_t stream, float factor, const T* scalar, const T* src, T* dst,
              std::int64_t elements);

// The values of ops::DropoutAttrs; `context` lies in device memory.
struct Dropout {
  const StepContext* context;
  std::uint64_t stream;
  float rate, factor;
};

// A tensor whose elements lie in logical order: one image, its pixels the elements, one channel.
struct DropoutShape {
  std::int64_t images, pixels, channels;  // channels last
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void dropout(cudaStream_t stream, const Dropout& dropout, const DropoutShape& shape, const T* src, T* dst);

}  // namespace trainyard::backend::cuda::device
