#include "backend/cuda/device/pad.h"

#include "backend/cuda/device/words.cuh"

namespace trainyard::backend::cuda::device {
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
