#include "backend/cuda/device/reorder.h"

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// Neighbouring threads write neighbouring elements when the caller gives axes in the order of dst.
template <typename Word>
__global__ void copy_elements(StridedCopy copy, std::int64_t elements, const Word* src, Word* dst) {
  for (auto i = static_cast<std::int64_t>(thread_index()); i < elements;
       i += static_cast<std::int64_t>(thread_count())) {
    std::int64_t rest = i, from = 0, to = 0;
    for (int axis = copy.rank - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % copy.axes[axis].length;
      rest /= copy.axes[axis].length;
      from += at * copy.axes[axis].src_stride;
      to += at * copy.axes[axis].dst_stride;
    }
    dst[to] = src[from];
  }
}

}  // namespace

void strided_copy(cudaStream_t stream, const StridedCopy& copy, const std::byte* src, std::byte* dst) {
  StridedCopy ordered = copy;
  std::stable_sort(ordered.axes, ordered.axes + ordered.rank,
                   [](const auto& a, const auto& b) { return a.dst_stride > b.dst_stride; });
  std::int64_t elements = 1;
  for (int axis = 0; axis < copy.rank; ++axis) elements *= copy.axes[axis].length;
  const int blocks = grid_for(static_cast<std::size_t>(elements));
  const auto start = [&](auto word) {
    using Word = decltype(word);
    copy_elements<<<blocks, kThreads, 0, stream>>>(ordered, elements, reinterpret_cast<const Word*>(src),
                                                   reinterpret_cast<Word*>(dst));
  };
  if (copy.element_bytes == 4) start(std::uint32_t{});
  if (copy.element_bytes == 2) start(std::uint16_t{});
  if (copy.element_bytes == 1) start(std::uint8_t{});
  check_launch("strided_copy");
}

}  // namespace trainyard::backend::cuda::device
