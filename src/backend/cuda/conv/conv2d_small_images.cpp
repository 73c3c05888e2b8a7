#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "ops/conv2d.h"

namespace trainyard::backend::cuda {
namespace {

using device::SmallImages;

// src and dst as the forward convolution has them.
SmallImages sizes_of(const ops::Window2d& window, const Shape& src, const Shape& dst) {
  const auto number = [](std::int64_t x) { return static_cast<int>(x); };
  return {.batch = number(src[0]),
          .height = number(src[2]),
          .width = number(src[3]),
          .channels = number(src[1]),
          .out_h = number(dst[2]),
          .out_w = number(dst[3]),
          .outputs = number(dst[1]),
          .kernel = number(window.kernel_h),
          .pad_top = number(window.pad_top),
          .pad_left = number(window.pad_left)};
}

// The gradient of src is a convolution from dst to src.
SmallImages turned(const SmallImages& s) {
  return {.batch = s.batch,
          .height = s.out_h,
          .width = s.out_w,
          .channels = s.outputs,
          .out_h = s.height,
          .out_w = s.width,
          .outputs = s.channels,
          .kernel = s.kernel,
          .pad_top = s.kernel - 1 - s.pad_top,
          .pad_left = s.kernel - 1 - s.pad_left};
}

// Completes the sizes with the limits of the device.
SmallImages on(const KernelRequest& request, SmallImages sizes) {
  sizes.shared_limit = context_of(request).properties().sharedMemPerBlockOptin;
  return sizes;
}

SmallImages forward_sizes(const graph::NodeView& node) {
  return sizes_of(node.attrs<ops::Conv2dAttrs>().window, node.input_shape(0), node.output_shape(0));
}
SmallImages pooled_sizes(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dMaxPoolAttrs>();
  return sizes_of(attrs.conv.window, node.input_shape(0),
                  ops::convolved_shape(attrs, node.input_shape(0), node.input_shape(1)));
}
SmallImages d_src_sizes(const graph::NodeView& node) {
  return turned(
      sizes_of(node.attrs<ops::Conv2dGradAttrs>().conv.window, node.output_shape(0), node.input_shape(0)));
}
SmallImages d_weight_sizes(const graph::NodeView& node) {
  return sizes_of(node.attrs<ops::Conv2dGradAttrs>().conv.window, node.input_shape(1), node.input_shape(0));
}

// The reason why there is no kernel: one of those of SmallImages, for the type of the node.
template <typename Reason>
const char* reason_against(const graph::NodeView& node, const Reason& reason) {
  const char* why = "made for bf16 and tf32";
  if (node.dtype() == DType::bf16) why = reason.template operator()<__nv_bfloat16>();
  if (node.dtype() == DType::f32) why = reason.template operator()<float>();
  return why;
}

Decision accept(const KernelRequest& request, const ops::Conv2dAttrs& attrs, const char* declined) {
  const ops::Window2d& window = attrs.window;
  if (request.node.dtype() == DType::f32 && context_of(request).precision() == Precision::f32)
    return Decision::no("rounds to tf32 before it multiplies");
  if (attrs.groups != 1 || window.kernel_h != window.kernel_w || window.stride_h != 1 ||
      window.stride_w != 1 || window.dilation_h != 1 || window.dilation_w != 1)
    return Decision::no("made for square kernels of one group, stride 1, without dilation");
  if (window.pad_top >= window.kernel_h || window.pad_left >= window.kernel_w)
    return Decision::no("more padding than the kernel reaches");
  return declined == nullptr ? Decision::yes() : Decision::no(declined);
}

Decision accept_forward(const KernelRequest& request) {
  const SmallImages sizes = on(request, forward_sizes(request.node));
  return accept(request, request.node.attrs<ops::Conv2dAttrs>(),
                request.node.dtype() == DType::bf16 ? sizes.decline_forward() : "made for bf16");
}
Decision accept_pooled(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::Conv2dMaxPoolAttrs>();
  const ops::Window2d& pool = attrs.pool;
  const SmallImages sizes = on(request, pooled_sizes(request.node));
  if (pool.kernel_h != 2 || pool.kernel_w != 2 || pool.stride_h != 2 || pool.stride_w != 2 ||
      pool.pad_top != 0 || pool.pad_left != 0 || pool.pad_bottom != 0 || pool.pad_right != 0 ||
      pool.dilation_h != 1 || pool.dilation_w != 1 || sizes.out_h % 2 != 0 || sizes.out_w % 2 != 0)
    return Decision::no("made for pools of 2x2 and stride 2 over even sizes");
  if (request.node.dtype() != request.node.output(0).type.dtype)
    return Decision::no("images and weights of one type only");
  return accept(request, attrs.conv,
                request.node.dtype() == DType::bf16 ? sizes.decline_forward() : "made for bf16");
}
Decision accept_d_src(const KernelRequest& request) {
  const SmallImages sizes = on(request, d_src_sizes(request.node));
  return accept(request, request.node.attrs<ops::Conv2dGradAttrs>().conv,
                reason_against(request.node, [&]<typename T>() { return sizes.decline_d_src<T>(); }));
}
Decision accept_d_weight(const KernelRequest& request) {
  const SmallImages sizes = on(request, d_weight_sizes(request.node));
  return accept(request, request.node.attrs<ops::Conv2dGradAttrs>().conv,
                reason_against(request.node, [&]<typename T>() { return sizes.decline_d_weight<T>(); }));
}

void forward(const Launch& at) {
  device::conv2d_small_images(at.stream(), forward_sizes(at.node), at.input<void>(0), at.input<void>(1),
                              at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                              to_device(at.node.attrs<ops::Conv2dAttrs>().activation), 0, at.output<void>(0),
                              nullptr);
}
void pooled(const Launch& at) {
  device::conv2d_small_images(at.stream(), pooled_sizes(at.node), at.input<void>(0), at.input<void>(1),
                              at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                              to_device(at.node.attrs<ops::Conv2dMaxPoolAttrs>().conv.activation), 2,
                              at.output<void>(0), at.output<std::uint8_t>(1));
}
void d_src(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_src_small_images<T>(at.stream(), d_src_sizes(at.node), at.input<T>(0), at.input<T>(1),
                                         at.output<T>(0));
  });
}
void d_weight(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_weight_small_images<T>(at.stream(), d_weight_sizes(at.node),
                                            at.device.properties().multiProcessorCount, at.input<T>(0),
                                            at.input<T>(1), at.workspace<float>(), at.output<T>(0),
                                            at.node.outputs() > 1 ? at.output<float>(1) : nullptr);
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes = device::conv2d_d_weight_small_images_workspace(
      d_weight_sizes(request.node), context_of(request).properties().multiProcessorCount);
  return std::make_unique<LaunchKernel>(request, std::move(io), d_weight);
}

}  // namespace

std::vector<Candidate> conv2d_small_images_candidates() {
  return {{&ops::conv2d_op, "own:conv2d_small_images", accept_forward, make<forward>},
          {&ops::conv2d_max_pool_op, "own:conv2d_max_pool_small_images", accept_pooled, make<pooled>},
          {&ops::conv2d_d_src_op, "own:conv2d_d_src_small_images", accept_d_src, make<d_src>},
          {&ops::conv2d_d_weight_op, "own:conv2d_d_weight_small_images", accept_d_weight, make_d_weight}};
}

}  // namespace trainyard::backend::cuda
