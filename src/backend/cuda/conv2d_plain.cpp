#include "backend/cuda/conv2d_plain.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/device/channel_sum.h"
#include "backend/cuda/device/conv2d_plain.h"
#include "backend/cuda/device/max_pool.h"
#include "backend/cuda/pool.h"
#include "ops/conv2d.h"
#include "ops/conv2d_max_pool.h"

namespace trainyard::backend::cuda {
namespace {

device::PlainConvolution sizes_of(const ops::Conv2dAttrs& attrs, const Shape& src, const Shape& weight,
                                  const Shape& dst) {
  const ops::Window2d& window = attrs.window;
  return {.batch = src[0],
          .channels = src[1],
          .height = src[2],
          .width = src[3],
          .outputs = dst[1],
          .rows = dst[2],
          .columns = dst[3],
          .depth = weight[1],
          .group_outputs = dst[1] / attrs.groups,
          .kernel_h = window.kernel_h,
          .kernel_w = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .dilation_h = window.dilation_h,
          .dilation_w = window.dilation_w,
          .pad_top = window.pad_top,
          .pad_left = window.pad_left};
}

}  // namespace

void conv2d_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dAttrs>();
  const auto sizes = sizes_of(attrs, at.node.input_shape(0), at.node.input_shape(1), at.node.output_shape(0));
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1),
                         at.node.inputs() == 3 ? at.input<float>(2) : nullptr, to_device(attrs.activation),
                         at.output<T>(0));
  });
}

void conv2d_d_src_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dGradAttrs>();
  const auto sizes = sizes_of(attrs.conv, attrs.shape, at.node.input_shape(1), at.node.input_shape(0));
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_src_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1), at.output<T>(0));
  });
}

void conv2d_d_weight_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dGradAttrs>();
  const Shape& dst = at.node.input_shape(0);
  const auto sizes = sizes_of(attrs.conv, at.node.input_shape(1), attrs.shape, dst);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_weight_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1), at.output<T>(0));
    if (attrs.bias)
      device::channel_sum(at.stream(), at.input<T>(0), at.output<float>(1), dst.elements() / dst[1], dst[1]);
  });
}

// The convolution's output lies in the workspace.
void conv2d_max_pool_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dMaxPoolAttrs>();
  const Shape &src = at.node.input_shape(0), &weight = at.node.input_shape(1), &dst = at.node.output_shape(0);
  const Shape between = ops::convolved_shape(attrs, src, weight);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_plain<T>(at.stream(), sizes_of(attrs.conv, src, weight, between), at.input<T>(0),
                            at.input<T>(1), at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                            to_device(attrs.conv.activation), at.workspace<T>());
    device::max_pool(at.stream(), make_pool(attrs.pool, between, dst), at.workspace<T>(), at.output<T>(0),
                     at.output<std::uint8_t>(1));
  });
}

// The gradient of the convolution's output lies in the workspace.
void conv2d_max_pool_d_weight_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  const Shape &dst = at.node.input_shape(0), &src = at.node.input_shape(2);
  const Shape between = ops::convolved_shape(attrs.forward, src, attrs.weight);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::max_pool_d_src(at.stream(), make_pool(attrs.forward.pool, between, dst), at.input<T>(0),
                           at.input<std::uint8_t>(1), attrs.mask_by_dst ? at.input<T>(3) : nullptr,
                           at.workspace<T>());
    device::conv2d_d_weight_plain(at.stream(), sizes_of(attrs.forward.conv, src, attrs.weight, between),
                                  at.workspace<T>(), at.input<T>(2), at.output<T>(0));
    if (attrs.bias)
      device::channel_sum(at.stream(), at.workspace<T>(), at.output<float>(1),
                          between.elements() / between[1], between[1]);
  });
}

}  // namespace trainyard::backend::cuda
