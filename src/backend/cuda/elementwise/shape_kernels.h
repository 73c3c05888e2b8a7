#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/runtime/chunks.h"
#include "backend/cuda/runtime/walk.h"

namespace trainyard::backend::cuda::device {

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

// From float to __nv_bfloat16, or back.
template <typename From, typename To>
void convert(cudaStream_t stream, const From* src, To* dst, std::int64_t elements);

// src lies in dst with zeros around it, both densely. Axes from the outermost to the innermost.
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

}  // namespace trainyard::backend::cuda::device
