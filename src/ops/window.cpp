#include "ops/window.h"

namespace trainyard::ops {
namespace {

std::string pair_text(std::int64_t a, std::int64_t b) {
  return a == b ? fmt::format("{}", a) : fmt::format("{},{}", a, b);
}

std::int64_t same_padding(std::int64_t size, std::int64_t reach, std::int64_t stride) {
  const std::int64_t output = (size + stride - 1) / stride;
  return std::max<std::int64_t>(0, (output - 1) * stride + reach - size);
}

std::int64_t ceil_padding(std::int64_t padded, std::int64_t reach, std::int64_t stride) {
  const std::int64_t excess = (padded - reach) % stride;
  return padded > reach && excess != 0 ? stride - excess : 0;
}

// Returns whether some output along one axis meets no element of the image.
bool misses_image(std::int64_t size, std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                  std::int64_t dilation, std::int64_t pad) {
  for (std::int64_t output = 0; output < outputs; ++output) {
    bool meets = false;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = output * stride - pad + k * dilation;
      meets = meets || (at >= 0 && at < size);
    }
    if (!meets) return true;
  }
  return false;
}

}  // namespace

std::string Window2d::to_string() const {
  std::string text = fmt::format("{}x{}", kernel_h, kernel_w);
  if (stride_h != 1 || stride_w != 1) text += " stride " + pair_text(stride_h, stride_w);
  if (dilation_h != 1 || dilation_w != 1) text += " dilation " + pair_text(dilation_h, dilation_w);
  if (pad_top == pad_bottom && pad_left == pad_right) {
    if (pad_top != 0 || pad_left != 0) text += " pad " + pair_text(pad_top, pad_left);
  } else {
    text += fmt::format(" pad {},{},{},{}", pad_top, pad_left, pad_bottom, pad_right);
  }
  return text;
}

Window2d square_window(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {.kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad};
}

Window2d with_same_padding(Window2d window, std::int64_t h, std::int64_t w) {
  const std::int64_t rows = same_padding(h, window.reach_h(), window.stride_h);
  const std::int64_t columns = same_padding(w, window.reach_w(), window.stride_w);
  window.pad_top = rows / 2;
  window.pad_bottom = rows - rows / 2;
  window.pad_left = columns / 2;
  window.pad_right = columns - columns / 2;
  return window;
}

Window2d with_ceil(Window2d window, std::int64_t h, std::int64_t w) {
  window.pad_bottom +=
      ceil_padding(h + window.pad_top + window.pad_bottom, window.reach_h(), window.stride_h);
  window.pad_right += ceil_padding(w + window.pad_left + window.pad_right, window.reach_w(), window.stride_w);
  return window;
}

void check_window(const graph::NodeView& node, const Window2d& window, const Shape& image) {
  if (window.kernel_h < 1 || window.kernel_w < 1 || window.stride_h < 1 || window.stride_w < 1 ||
      window.dilation_h < 1 || window.dilation_w < 1)
    node.refuse("window {} has a kernel, stride or dilation below 1", window.to_string());
  if (window.pad_top < 0 || window.pad_left < 0 || window.pad_bottom < 0 || window.pad_right < 0)
    node.refuse("window {} has a negative padding", window.to_string());
  if (image[2] + window.pad_top + window.pad_bottom < window.reach_h() ||
      image[3] + window.pad_left + window.pad_right < window.reach_w())
    node.refuse("window {} is larger than its padded input {}", window.to_string(), image.to_string());
}

void check_pool_window(const graph::NodeView& node, const Window2d& window, const Shape& image) {
  check_window(node, window, image);
  if (misses_image(image[2], window.output_h(image[2]), window.kernel_h, window.stride_h, window.dilation_h,
                   window.pad_top) ||
      misses_image(image[3], window.output_w(image[3]), window.kernel_w, window.stride_w, window.dilation_w,
                   window.pad_left))
    node.refuse("window {} would see padding only, input is {}", window.to_string(), image.to_string());
}

}  // namespace trainyard::ops
