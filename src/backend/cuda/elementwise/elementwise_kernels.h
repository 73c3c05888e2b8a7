#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/runtime/chunks.h"
#include "backend/cuda/runtime/walk.h"
#include "backend/step_context.h"
#include "ops/device_attrs.h"
#include "ops/pointwise_values.h"

namespace trainyard::backend::cuda::device {

// Activation holds the op's attributes as kernels take them.
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

// ops::smooth_unit_op; gated, rows of src hold two halves of `width` numbers. T: float or __nv_bfloat16.
template <typename T>
void smooth_unit(cudaStream_t stream, ops::SmoothKind kind, const T* src, T* dst, std::int64_t elements);
template <typename T>
void smooth_unit_grad(cudaStream_t stream, ops::SmoothKind kind, const T* d_dst, const T* src, T* d_src,
                      std::int64_t elements);
// ops::pointwise_op. T: float or __nv_bfloat16. dst may be a source.
template <typename T>
void pointwise(cudaStream_t stream, const ops::PointwiseAttrs& attrs, const T* src, T* dst,
               std::int64_t elements);
template <typename T>
void pointwise_grad(cudaStream_t stream, const ops::PointwiseAttrs& attrs, const T* d_dst, const T* src,
                    T* d_src, std::int64_t elements);
template <typename T>
void gated_smooth_unit(cudaStream_t stream, ops::SmoothKind kind, std::int64_t rows, std::int64_t width,
                       const T* src, T* dst);
template <typename T>
void gated_smooth_unit_grad(cudaStream_t stream, ops::SmoothKind kind, std::int64_t rows, std::int64_t width,
                            const T* d_dst, const T* src, T* d_src);

// Says how blocks share the rows and columns of a unit's gradient that also sums its columns: a strip is as
// wide as the vectors of a warp.
struct UnitStrips {
  UnitStrips(std::int64_t rows, std::int64_t width, std::size_t element_bytes, int multiprocessors);

  std::int64_t rows, width;
  int strips, row_blocks;
  std::size_t part_bytes;
};

// As smooth_unit_grad(), and sums[c] = sum of column c of d_src before it is rounded, in an order that
// depends only on the sizes. The width is a multiple of 16 bytes. `counters` has a number for each strip, 0
// before and after.
template <typename T>
void smooth_unit_grad_and_columns(cudaStream_t stream, ops::SmoothKind kind, const UnitStrips& strips,
                                  const T* d_dst, const T* src, T* d_src, float* parts,
                                  std::uint32_t* counters, float* sums);

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

// Works element by element. T: float or __nv_bfloat16; dst may be a source.
template <typename T>
void scale(cudaStream_t stream, float factor, const T* src, T* dst, std::int64_t elements);
template <typename T>
void multiply(cudaStream_t stream, const T* a, const T* b, T* dst, std::int64_t elements);
template <typename T>
void fill(cudaStream_t stream, float value, T* dst, std::int64_t elements);
void fill(cudaStream_t stream, std::int32_t value, std::int32_t* dst, std::int64_t elements);
// dst = factor * *scalar * src, the scalar in device memory
template <typename T>
void scale_by(cudaStream_t stream, float factor, const T* scalar, const T* src, T* dst,
              std::int64_t elements);

// Holds the values of ops::DropoutAttrs; `context` lies in device memory.
struct Dropout {
  const StepContext* context;
  std::uint64_t stream;
  float rate, factor;
};

// A DropoutShape is a tensor whose elements lie in logical order: one image, its pixels the elements, one
// channel.
struct DropoutShape {
  std::int64_t images, pixels, channels;  // channels last
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void dropout(cudaStream_t stream, const Dropout& dropout, const DropoutShape& shape, const T* src, T* dst);

// In place y[row, c] = activation(y[row, c] + bias[c]); bias may be null. T: float or __nv_bfloat16.
template <typename T>
void bias_activation(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
                     std::int64_t channels);

// sums[c] = sum over rows of src[row, c], in f32 and in an order that depends only on the sizes.
// T: float or __nv_bfloat16.
template <typename T>
void channel_sum(cudaStream_t stream, const T* src, float* sums, std::int64_t rows, std::int64_t channels);

// Images of a few channels, each at its stride in elements, so that any order of axes will do.
struct FewChannelImages {
  std::int64_t images, pixels, channels;
  std::int64_t image_stride, pixel_stride, channel_stride;
};

// dst has `padded` channels, 4 or 8, which lie last; the new ones are zero. T: float or __nv_bfloat16.
template <typename T>
void pad_channels(cudaStream_t stream, const FewChannelImages& from, const T* src, int padded, T* dst);
// Back: the first `channels` of `padded` in each of `pixels`, channels last on both sides.
template <typename T>
void strip_channels(cudaStream_t stream, const T* src, int padded, T* dst, int channels, std::int64_t pixels);

struct CastTensor {
  const void* src;
  void* dst;
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool from_bf16, to_bf16;  // otherwise f32
  Walk walk;                // element i of dst is src[walk.offset(i)]
};

// ops::cast_op, all tensors in one launch.
void cast(cudaStream_t stream, const Chunks<CastTensor>& chunks);

// dst consists of lines, and each part has a piece of every line.
struct ConcatParts {
  struct Part {
    const std::byte* src;
    std::int64_t bytes, offset;  // of its piece of a line
  };
  static constexpr int kMax = 64;  // they are a kernel's argument

  Part parts[kMax];
  int count = 0;
  std::int64_t lines = 0, line_bytes = 0;
};

void concat(cudaStream_t stream, const ConcatParts& parts, std::byte* dst);

// Converts from float to __nv_bfloat16, or back.
template <typename From, typename To>
void convert(cudaStream_t stream, const From* src, To* dst, std::int64_t elements);

// src lies in dst with zeros around it, both densely. Axes stand from the outermost to the innermost.
struct Padding {
  struct Axis {
    std::int64_t before, src_length, dst_length;
  };
  Axis axes[Walk::kMaxRank];
  int rank = 0;
  int element_bytes = 4;  // 1, 2 or 4

  // An axis without zeros becomes part of the one around it.
  void append(const Axis& axis) {
    if (rank > 0 && axis.src_length == axis.dst_length) {
      Axis& outer = axes[rank - 1];
      outer = {outer.before * axis.src_length, outer.src_length * axis.src_length,
               outer.dst_length * axis.src_length};
    } else {
      axes[rank++] = axis;
    }
  }
};

void pad(cudaStream_t stream, const Padding& padding, const std::byte* src, std::byte* dst);

// Element i of dst, which lies densely, is element first + from.offset(i) of src.
struct StridedCopy {
  Walk from;
  std::int64_t first = 0;
  std::int64_t elements = 0;
  int element_bytes = 4;  // 1, 2 or 4
};

void strided_copy(cudaStream_t stream, const StridedCopy& copy, const std::byte* src, std::byte* dst);

// ops::sum_op: element i of dst, which lies densely, is the sum over j of src[element.offset(i) +
// term.offset(j)], in f32 and in an order that depends only on the sizes.
struct AxisSums {
  Walk element, term;
  std::uint32_t elements = 0, terms = 0;
};

// T: float or __nv_bfloat16.
template <typename T>
void sum_axes(cudaStream_t stream, const AxisSums& sums, const T* src, T* dst);

}  // namespace trainyard::backend::cuda::device
