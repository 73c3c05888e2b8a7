#include "backend/cuda/pool.h"

namespace trainyard::backend::cuda {

device::Pool make_pool(const ops::Window2d& window, const Shape& src, const Shape& dst) {
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  return {.images = narrow(src[0]),
          .channels = narrow(src[1]),
          .src_h = narrow(src[2]),
          .src_w = narrow(src[3]),
          .dst_h = narrow(dst[2]),
          .dst_w = narrow(dst[3]),
          .kernel_h = narrow(window.kernel_h),
          .kernel_w = narrow(window.kernel_w),
          .stride_h = narrow(window.stride_h),
          .stride_w = narrow(window.stride_w),
          .dilation_h = narrow(window.dilation_h),
          .dilation_w = narrow(window.dilation_w),
          .pad_top = narrow(window.pad_top),
          .pad_left = narrow(window.pad_left)};
}

}  // namespace trainyard::backend::cuda
