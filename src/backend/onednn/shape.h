#pragma once

#include "backend/onednn/runtime/dnnl_kernel.h"

namespace trainyard::backend::onednn {

// Names the corner of a box of pixels and channels inside an image.
struct BoxCorner {
  std::int64_t channel = 0, row = 0, column = 0;
};

// Copies `channels` x `rows` x `columns` of every image from one corner to another.
void copy_box(const ImageView& src, const float* from, BoxCorner src_corner, const ImageView& dst, float* to,
              BoxCorner dst_corner, std::int64_t channels, std::int64_t rows, std::int64_t columns);

}  // namespace trainyard::backend::onednn
