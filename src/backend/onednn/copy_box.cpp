#include "backend/onednn/copy_box.h"

#include <algorithm>

#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

// A run of channels of one row of pixels.
void copy_run(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
              std::int64_t channels, std::int64_t pixels) {
  if (channels == from_stride && channels == to_stride) {
    std::copy(from, from + pixels * channels, to);
    return;
  }
  for (std::int64_t p = 0; p < pixels; ++p, from += from_stride, to += to_stride)
    std::copy(from, from + channels, to);
}

// Neighbouring channels at one pixel: up to the end of a block, or all of them where channels come last.
std::int64_t run_from(const ImageView& image, std::int64_t channel) {
  return image.block_stride == image.lanes ? image.channels - channel : image.lanes - channel % image.lanes;
}

std::int64_t offset_of(const ImageView& image, std::int64_t n, std::int64_t channel, std::int64_t row,
                       std::int64_t column) {
  return n * image.image_stride + channel / image.lanes * image.block_stride + channel % image.lanes +
         (row * image.width + column) * image.pixel_stride;
}

}  // namespace

void copy_box(const ImageView& src, const float* from, BoxCorner src_corner, const ImageView& dst, float* to,
              BoxCorner dst_corner, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t c = 0; c < channels;) {
        const std::int64_t sc = src_corner.channel + c, dc = dst_corner.channel + c;
        const std::int64_t run = std::min({channels - c, run_from(src, sc), run_from(dst, dc)});
        for (std::int64_t row = 0; row < rows; ++row)
          copy_run(from + offset_of(src, n, sc, src_corner.row + row, src_corner.column), src.pixel_stride,
                   to + offset_of(dst, n, dc, dst_corner.row + row, dst_corner.column), dst.pixel_stride, run,
                   columns);
        c += run;
      }
    }
  });
}

}  // namespace trainyard::backend::onednn
