#include "backend/cuda/device/concat.h"

#include "backend/cuda/device/walk.h"
#include "backend/cuda/device/words.cuh"

namespace trainyard::backend::cuda::device {
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

}  // namespace trainyard::backend::cuda::device
