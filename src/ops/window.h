#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// Describes a sliding window over rows and columns; convolution and pooling share it.
struct Window2d {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  std::int64_t reach_h() const { return (kernel_h - 1) * dilation_h + 1; }
  std::int64_t reach_w() const { return (kernel_w - 1) * dilation_w + 1; }
  std::int64_t output_h(std::int64_t h) const {
    return (h + pad_top + pad_bottom - reach_h()) / stride_h + 1;
  }
  std::int64_t output_w(std::int64_t w) const {
    return (w + pad_left + pad_right - reach_w()) / stride_w + 1;
  }
  std::int64_t area() const { return kernel_h * kernel_w; }
  std::string to_string() const;  // "5x5 stride 2 pad 2"
};

Window2d square_window(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0);

// TensorFlow's SAME: output = ceil(input / stride), the odd row or column of padding goes below and right.
Window2d with_same_padding(Window2d window, std::int64_t h, std::int64_t w);

// Rounds the output size up: pads below and right until the last partial window counts.
Window2d with_ceil(Window2d window, std::int64_t h, std::int64_t w);

// Refuses windows that are not positive or larger than the padded image.
void check_window(const graph::NodeView& node, const Window2d& window, const Shape& image);

// The same for pooling, which also refuses an output whose window would see nothing but padding.
void check_pool_window(const graph::NodeView& node, const Window2d& window, const Shape& image);

}  // namespace trainyard::ops
