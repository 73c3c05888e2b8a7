#pragma once

#include "backend/cuda/device/activation.h"

namespace trainyard::backend::cuda::device {

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

}  // namespace trainyard::backend::cuda::device
