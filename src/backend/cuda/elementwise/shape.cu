#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/chunks.cuh"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/walk.h"

namespace trainyard::backend::cuda::device {

namespace {

template <typename From>
__device__ inline void gather_quad(const CastTensor& tensor, std::int64_t at, float (&quad)[4]) {
  const auto* src = static_cast<const From*>(tensor.src);
  if (tensor.walk.is_dense()) return load_quad(src, at, tensor.elements, quad);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    quad[i] = at + i < tensor.elements ? to_float(src[tensor.walk.offset(static_cast<std::uint32_t>(at + i))])
                                       : 0.0f;
}

__global__ void __launch_bounds__(kThreads) cast_chunks(const __grid_constant__ Chunks<CastTensor> chunks) {
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const CastTensor& tensor = chunks.tensors[chunks.tensor_of[chunk]];
    const std::int64_t first = (chunk - tensor.first_chunk) * kChunkElements + threadIdx.x * 4;
    float quads[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (tensor.from_bf16)
        gather_quad<bf16>(tensor, first + q * kThreads * 4, quads[q]);
      else
        gather_quad<float>(tensor, first + q * kThreads * 4, quads[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (tensor.to_bf16)
        store_quad(static_cast<bf16*>(tensor.dst), first + q * kThreads * 4, tensor.elements, quads[q]);
      else
        store_quad(static_cast<float*>(tensor.dst), first + q * kThreads * 4, tensor.elements, quads[q]);
    }
  }
}

}  // namespace

void cast(cudaStream_t stream, const Chunks<CastTensor>& chunks) {
  if (chunks.count == 0) return;
  cast_chunks<<<grid_for(chunks), kThreads, 0, stream>>>(chunks);
  check_launch("cast");
}

namespace {

// Blocks of one y have one part.
template <typename Word>
__global__ void __launch_bounds__(kThreads) copy_parts(const __grid_constant__ ConcatParts all, Word* dst) {
  const ConcatParts::Part& part = all.parts[blockIdx.y];
  const auto* src = reinterpret_cast<const Word*>(part.src);
  const auto piece = static_cast<std::uint32_t>(part.bytes / sizeof(Word));
  const auto words = static_cast<std::uint32_t>(all.lines * piece);
  const std::int64_t line_words = all.line_bytes / sizeof(Word), offset = part.offset / sizeof(Word);
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < words;
       i += static_cast<std::uint32_t>(thread_count())) {
    const std::uint32_t line = i / piece;
    dst[line * line_words + offset + (i - line * piece)] = src[i];
  }
}

}  // namespace

void concat(cudaStream_t stream, const ConcatParts& parts, std::byte* dst) {
  std::int64_t word = word_bytes(parts.line_bytes), longest = 0;
  for (int p = 0; p < parts.count; ++p) {
    word = word_bytes(word, parts.parts[p].bytes, parts.parts[p].offset);
    longest = std::max(longest, parts.parts[p].bytes);
  }
  with_word(word, [&](auto type) {
    using Word = decltype(type);
    const dim3 blocks(static_cast<unsigned>(grid_for(static_cast<std::size_t>(parts.lines * longest / word))),
                      static_cast<unsigned>(parts.count));
    copy_parts<<<blocks, kThreads, 0, stream>>>(parts, reinterpret_cast<Word*>(dst));
  });
  check_launch("concat");
}

template <typename From, typename To>
void convert(cudaStream_t stream, const From* src, To* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [] __device__(float x) { return x; }, dst, src);
}

template void convert(cudaStream_t, const float*, bf16*, std::int64_t);
template void convert(cudaStream_t, const bf16*, float*, std::int64_t);

namespace {

struct PadAxis {
  Divisor dst_length;
  std::uint32_t before, src_length;
  std::int64_t src_stride;
};

struct PadAxes {
  PadAxis axes[Walk::kMaxRank];
  int rank = 0;
  std::uint32_t words = 1;  // of dst
};

template <typename Word>
__global__ void __launch_bounds__(kThreads) pad_words(PadAxes pad, const Word* src, Word* dst) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < pad.words;
       i += static_cast<std::uint32_t>(thread_count())) {
    std::uint32_t rest = i;
    std::int64_t from = 0;
    bool inside = true;
    for (int axis = pad.rank - 1; axis >= 0; --axis) {
      const PadAxis& a = pad.axes[axis];
      const std::uint32_t outer = a.dst_length.quotient(rest);
      const std::uint32_t at =
          rest - outer * a.dst_length.divisor - a.before;  // wraps where it is before src
      inside = inside && at < a.src_length;
      from += at * a.src_stride;
      rest = outer;
    }
    dst[i] = inside ? src[from] : Word{};
  }
}

PadAxes in_words(const Padding& padding, std::int64_t word) {
  PadAxes made;
  made.rank = padding.rank;
  std::int64_t stride = 1;
  for (int axis = padding.rank - 1; axis >= 0; --axis) {
    const Padding::Axis& of = padding.axes[axis];
    const std::int64_t joined = axis == padding.rank - 1 ? word / padding.element_bytes : 1;
    made.axes[axis] = {Divisor(static_cast<std::uint32_t>(of.dst_length / joined)),
                       static_cast<std::uint32_t>(of.before / joined),
                       static_cast<std::uint32_t>(of.src_length / joined), stride};
    stride *= of.src_length / joined;
    made.words *= made.axes[axis].dst_length.divisor;
  }
  return made;
}

}  // namespace

void pad(cudaStream_t stream, const Padding& padding, const std::byte* src, std::byte* dst) {
  std::int64_t word = padding.element_bytes;
  if (padding.rank > 0) {
    const Padding::Axis& inner = padding.axes[padding.rank - 1];
    word = word_bytes(inner.before * padding.element_bytes, inner.src_length * padding.element_bytes,
                      inner.dst_length * padding.element_bytes);
  }
  const PadAxes axes = in_words(padding, word);
  with_word(word, [&](auto type) {
    using Word = decltype(type);
    pad_words<<<grid_for(axes.words), kThreads, 0, stream>>>(axes, reinterpret_cast<const Word*>(src),
                                                             reinterpret_cast<Word*>(dst));
  });
  check_launch("pad");
}

}  // namespace trainyard::backend::cuda::device
