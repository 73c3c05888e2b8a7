#include "backend/onednn/copy_box.h"

#include <algorithm>

#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

// Channels [channel, channel + count) of one pixel row; count never crosses a block on either side.
void copy_run(const float* from, float* to, int block, std::int64_t count, std::int64_t pixels) {
  if (count == block) {
    std::copy(from, from + pixels * block, to);
    return;
  }
  for (std::int64_t p = 0; p < pixels; ++p)
    for (std::int64_t c = 0; c < count; ++c) to[p * block + c] = from[p * block + c];
}

}  // namespace

void copy_box(const BlockedImage& src, const float* from, BoxCorner src_corner, const BlockedImage& dst,
              float* to, BoxCorner dst_corner, std::int64_t channels, std::int64_t rows,
              std::int64_t columns) {
  const int block = src.block;
  parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t c = 0; c < channels;) {
        const std::int64_t sc = src_corner.channel + c, dc = dst_corner.channel + c;
        const std::int64_t run =
            std::min({channels - c, block - sc % block, static_cast<std::int64_t>(block) - dc % block});
        const float* src_plane = from + (n * src.blocks + sc / block) * src.plane() + sc % block;
        float* dst_plane = to + (n * dst.blocks + dc / block) * dst.plane() + dc % block;
        for (std::int64_t row = 0; row < rows; ++row)
          copy_run(src_plane + ((src_corner.row + row) * src.width + src_corner.column) * block,
                   dst_plane + ((dst_corner.row + row) * dst.width + dst_corner.column) * block, block, run,
                   columns);
        c += run;
      }
    }
  });
}

}  // namespace trainyard::backend::onednn
