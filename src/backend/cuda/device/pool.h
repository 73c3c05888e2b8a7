#pragma once

#include <cstdint>

namespace trainyard::backend::cuda::device {

// A pooling window and the images it goes over, channels last.
struct Pool {
  int images, channels, src_h, src_w, dst_h, dst_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;

  std::int64_t src_elements() const { return std::int64_t{images} * src_h * src_w * channels; }
  std::int64_t dst_elements() const { return std::int64_t{images} * dst_h * dst_w * channels; }
};

}  // namespace trainyard::backend::cuda::device
