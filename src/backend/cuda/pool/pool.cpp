#include "backend/cuda/pool/pool.h"

#include "backend/cuda/runtime/list.h"
#include "ops/pool.h"
#include "ops/resize.h"

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

namespace {

void max_pool(const Launch& launch) {
  const device::Pool pool = make_pool(launch.node.attrs<ops::MaxPoolAttrs>().window,
                                      launch.node.input_shape(0), launch.node.output_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::max_pool(launch.stream(), pool, launch.input<T>(0), launch.output<T>(0),
                     launch.output<std::uint8_t>(1));
  });
}

void max_pool_d_src(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::MaxPoolGradAttrs>();
  const device::Pool pool = make_pool(attrs.window, attrs.src_shape, launch.node.input_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::max_pool_d_src(launch.stream(), pool, launch.input<T>(0), launch.input<std::uint8_t>(1),
                           attrs.mask_by_dst ? launch.input<T>(2) : nullptr, launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

void average_pool(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AveragePoolAttrs>();
  const device::Pool pool = make_pool(attrs.window, launch.node.input_shape(0), launch.node.output_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::average_pool(launch.stream(), pool, attrs.count_padding, launch.input<T>(0), launch.output<T>(0));
  });
}

void average_pool_d_src(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AveragePoolGradAttrs>();
  const device::Pool pool = make_pool(attrs.pool.window, attrs.src_shape, launch.node.input_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::average_pool_d_src(launch.stream(), pool, attrs.pool.count_padding, launch.input<T>(0),
                               launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_average_pool(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

// `small`: of the images before they are upsampled.
device::Upsample upsample_of(const Launch& launch, const Shape& small) {
  return {small[0], small[2], small[3], small[1], launch.node.attrs<ops::UpsampleAttrs>().factor};
}

void upsample(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::upsample(launch.stream(), upsample_of(launch, launch.node.input_shape(0)), launch.input<T>(0),
                     launch.output<T>(0));
  });
}

void upsample_d_src(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::upsample_d_src(launch.stream(), upsample_of(launch, launch.node.output_shape(0)),
                           launch.input<T>(0), launch.output<T>(0));
  });
}

// `small`: of the images before they are resized.
device::Resize resize_of(const Launch& launch, const Shape& small, const Shape& large) {
  const ops::ResizePlaces places = launch.node.attrs<ops::ResizeAttrs>().places;
  return {small[0], small[1], {small[2], large[2], places}, {small[3], large[3], places}};
}

void resize(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::resize(launch.stream(),
                   resize_of(launch, launch.node.input_shape(0), launch.node.output_shape(0)),
                   launch.input<T>(0), launch.output<T>(0));
  });
}

void resize_d_src(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::resize_d_src(launch.stream(),
                         resize_of(launch, launch.node.output_shape(0), launch.node.input_shape(0)),
                         launch.input<T>(0), launch.output<T>(0));
  });
}

}  // namespace

std::vector<Candidate> pool_candidates() {
  return {
      {&ops::max_pool_op, "own:max_pool", want_countable_elements, make_max_pool<max_pool>},
      {&ops::max_pool_d_src_op, "own:max_pool_d_src", want_countable_elements, make_max_pool<max_pool_d_src>},
      {&ops::average_pool_op, "own:average_pool", want_countable_elements, make_average_pool<average_pool>},
      {&ops::average_pool_d_src_op, "own:average_pool_d_src", want_countable_elements,
       make_average_pool<average_pool_d_src>},
      {&ops::upsample_op, "own:upsample", want_device_floats, make_average_pool<upsample>},
      {&ops::upsample_d_src_op, "own:upsample_d_src", want_device_floats, make_average_pool<upsample_d_src>},
      {&ops::resize_op, "own:resize", want_device_floats, make_average_pool<resize>},
      {&ops::resize_d_src_op, "own:resize_d_src", want_device_floats, make_average_pool<resize_d_src>}};
}

}  // namespace trainyard::backend::cuda
