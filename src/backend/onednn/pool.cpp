#include "ops/pool.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/max_pool_image.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

void run_forward_max_pool(const Arguments& arguments) {
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const auto& window = arguments.node.attrs<ops::MaxPoolAttrs>().window;
  with_lanes(src.lanes, [&]<int L>() {
    parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t n = begin; n < end; ++n)
        pool_image<L>(window, src, dst, arguments.input<float>(0) + n * src.image_stride,
                      arguments.output<float>(0) + n * dst.image_stride,
                      arguments.output<std::uint8_t>(1) + n * dst.image_stride);
    });
  });
}

void run_d_src_max_pool(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::MaxPoolGradAttrs>();
  const ImageView dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView src(arguments.io.outputs[0], arguments.node.output_shape(0));
  with_lanes(src.lanes, [&]<int L>() {
    parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t n = begin; n < end; ++n)
        unpool_image<L>(attrs.window, src, dst, arguments.input<float>(0) + n * dst.image_stride,
                        arguments.input<std::uint8_t>(1) + n * dst.image_stride,
                        attrs.mask_by_dst ? arguments.input<float>(2) + n * dst.image_stride : nullptr,
                        arguments.output<float>(0) + n * src.image_stride);
    });
  });
}

Decision accept_max_pool(const KernelRequest& request) { return wants_image(request.node); }

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout, layout}, 0, {}},
                                          run_forward_max_pool);
}

// Follows the layout in which the forward pass left the choice.
std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  KernelIo io{{layout, layout}, {layout}, 0, {}};
  if (request.node.inputs() == 3) io.inputs.push_back(layout);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_d_src_max_pool);
}

// Calls body(output pixel, first image row, last, first column, last, one over the divisor).
template <typename Body>
void for_each_window(const ops::AveragePoolAttrs& attrs, const ImageView& src, const ImageView& dst,
                     const Body& body) {
  const ops::Window2d& w = attrs.window;
  for (std::int64_t oh = 0; oh < dst.height; ++oh) {
    const std::int64_t top = oh * w.stride_h - w.pad_top, y0 = std::max<std::int64_t>(0, top),
                       y1 = std::min(top + w.kernel_h, src.height);
    for (std::int64_t ow = 0; ow < dst.width; ++ow) {
      const std::int64_t left = ow * w.stride_w - w.pad_left, x0 = std::max<std::int64_t>(0, left),
                         x1 = std::min(left + w.kernel_w, src.width);
      const std::int64_t count = attrs.count_padding ? w.area() : (y1 - y0) * (x1 - x0);
      body(oh * dst.width + ow, y0, y1, x0, x1, 1.0f / static_cast<float>(std::max<std::int64_t>(count, 1)));
    }
  }
}

// Images are split over threads; `body` sees one block of channels of one image.
template <typename Body>
void for_each_block(const ImageView& image, const Body& body) {
  parallel_chunks(image.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n)
      for (std::int64_t b = 0; b < image.blocks; ++b) body(n, b);
  });
}

void run_forward_average_pool(const Arguments& arguments) {
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const auto& attrs = arguments.node.attrs<ops::AveragePoolAttrs>();
  with_lanes(src.lanes, [&]<int L>() {
    using V = Vec<L>;
    for_each_block(src, [&](std::int64_t n, std::int64_t b) {
      const float* x = arguments.input<float>(0) + n * src.image_stride + b * src.block_stride;
      float* y = arguments.output<float>(0) + n * dst.image_stride + b * dst.block_stride;
      for_each_window(attrs, src, dst, [&](auto pixel, auto y0, auto y1, auto x0, auto x1, float scale) {
        typename V::Floats sum{};
        for (auto row = y0; row < y1; ++row)
          for (auto column = x0; column < x1; ++column)
            sum += V::load(x + (row * src.width + column) * src.pixel_stride);
        V::store(y + pixel * dst.pixel_stride, sum * scale);
      });
    });
  });
}

void run_d_src_average_pool(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::AveragePoolGradAttrs>().pool;
  const ImageView dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView src(arguments.io.outputs[0], arguments.node.output_shape(0));
  with_lanes(src.lanes, [&]<int L>() {
    using V = Vec<L>;
    for_each_block(src, [&](std::int64_t n, std::int64_t b) {
      const float* d_y = arguments.input<float>(0) + n * dst.image_stride + b * dst.block_stride;
      float* d_x = arguments.output<float>(0) + n * src.image_stride + b * src.block_stride;
      for (std::int64_t pixel = 0; pixel < src.pixels(); ++pixel)
        V::store(d_x + pixel * src.pixel_stride, typename V::Floats{});
      for_each_window(attrs, src, dst, [&](auto pixel, auto y0, auto y1, auto x0, auto x1, float scale) {
        const auto share = V::load(d_y + pixel * dst.pixel_stride) * scale;
        for (auto row = y0; row < y1; ++row)
          for (auto column = x0; column < x1; ++column) {
            float* at = d_x + (row * src.width + column) * src.pixel_stride;
            V::store(at, V::load(at) + share);
          }
      });
    });
  });
}

// Calls body(pixel of the small image, the first of its square in the large one).
template <typename Body>
void for_each_square(const ImageView& small, std::int64_t factor, const Body& body) {
  for (std::int64_t y = 0; y < small.height; ++y)
    for (std::int64_t x = 0; x < small.width; ++x)
      body(y * small.width + x, (y * factor * small.width + x) * factor);
}

void run_upsample(const Arguments& arguments) {
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const std::int64_t factor = arguments.node.attrs<ops::UpsampleAttrs>().factor;
  with_lanes(src.lanes, [&]<int L>() {
    using V = Vec<L>;
    for_each_block(src, [&](std::int64_t n, std::int64_t b) {
      const float* x = arguments.input<float>(0) + n * src.image_stride + b * src.block_stride;
      float* y = arguments.output<float>(0) + n * dst.image_stride + b * dst.block_stride;
      for_each_square(src, factor, [&](std::int64_t from, std::int64_t to) {
        const auto pixel = V::load(x + from * src.pixel_stride);
        for (std::int64_t i = 0; i < factor * factor; ++i)
          V::store(y + (to + i / factor * dst.width + i % factor) * dst.pixel_stride, pixel);
      });
    });
  });
}

void run_d_src_upsample(const Arguments& arguments) {
  const ImageView dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView src(arguments.io.outputs[0], arguments.node.output_shape(0));
  const std::int64_t factor = arguments.node.attrs<ops::UpsampleAttrs>().factor;
  with_lanes(src.lanes, [&]<int L>() {
    using V = Vec<L>;
    for_each_block(src, [&](std::int64_t n, std::int64_t b) {
      const float* d_y = arguments.input<float>(0) + n * dst.image_stride + b * dst.block_stride;
      float* d_x = arguments.output<float>(0) + n * src.image_stride + b * src.block_stride;
      for_each_square(src, factor, [&](std::int64_t to, std::int64_t from) {
        typename V::Floats sum{};
        for (std::int64_t i = 0; i < factor * factor; ++i)
          sum += V::load(d_y + (from + i / factor * dst.width + i % factor) * dst.pixel_stride);
        V::store(d_x + to * src.pixel_stride, sum);
      });
    });
  });
}

Decision accept_average_pool(const KernelRequest& request) { return wants_image(request.node); }

template <KernelFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {}}, function);
}

}  // namespace

std::vector<Candidate> pool_candidates() {
  return {{&ops::max_pool_op, "own:max_pool", accept_max_pool, make_forward},
          {&ops::max_pool_d_src_op, "own:max_pool_d_src", accept_max_pool, make_d_src},
          {&ops::average_pool_op, "own:average_pool", accept_average_pool, make<run_forward_average_pool>},
          {&ops::average_pool_d_src_op, "own:average_pool_d_src", accept_average_pool,
           make<run_d_src_average_pool>},
          {&ops::upsample_op, "own:upsample", accept_average_pool, make<run_upsample>},
          {&ops::upsample_d_src_op, "own:upsample_d_src", accept_average_pool, make<run_d_src_upsample>}};
}

}  // namespace trainyard::backend::onednn
