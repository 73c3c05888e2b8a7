#include "ops/max_pool.h"

#include <algorithm>
#include <limits>

#include "backend/onednn/image_view.h"
#include "backend/onednn/list.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

// The part of a window that lies inside the image.
struct Span {
  std::int64_t first, last;  // window places [first, last)
  std::int64_t origin;       // image coordinate of place 0

  Span(std::int64_t output, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t size)
      : origin(output * stride - pad) {
    first = std::max<std::int64_t>(0, -origin);
    last = std::min(kernel, size - origin);
  }
};

// All bits set in the lanes that are channels, none in the padding of a last block.
template <int L>
typename Vec<L>::Ints channel_lanes(const ImageView& image, std::int64_t block) {
  typename Vec<L>::Ints lanes;
  for (int lane = 0; lane < L; ++lane) lanes[lane] = block * L + lane < image.channels ? -1 : 0;
  return lanes;
}

// One row of outputs in one block of channels; x and y point to that block of the image.
template <int L>
void pool_row(const ops::Window2d& window, const ImageView& src, const ImageView& dst, std::int64_t oh,
              typename Vec<L>::Ints lanes, const float* x, float* y, std::uint8_t* choice) {
  using V = Vec<L>;
  const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
  for (std::int64_t ow = 0; ow < dst.width; ++ow) {
    const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
    auto best = V::splat(-std::numeric_limits<float>::infinity());
    typename V::Ints place{};
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      const float* row = x + ((rows.origin + ky) * src.width + columns.origin) * src.pixel_stride;
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
        const auto value = V::load(row + kx * src.pixel_stride);
        const auto larger = value > best;
        best = larger ? value : best;
        place = larger ? (typename V::Ints{} + static_cast<std::int32_t>(ky * window.kernel_w + kx)) : place;
      }
    }
    const std::int64_t at = (oh * dst.width + ow) * dst.pixel_stride;
    V::store(y + at, best);
    const auto bytes = __builtin_convertvector(place & lanes, typename V::Bytes);
    std::memcpy(choice + at, &bytes, sizeof bytes);
  }
}

template <int L>
typename Vec<L>::Ints load_choice(const std::uint8_t* choice) {
  typename Vec<L>::Bytes bytes;
  std::memcpy(&bytes, choice, sizeof bytes);
  return __builtin_convertvector(bytes, typename Vec<L>::Ints);
}

// The windows neither overlap nor leave gaps, so every element of d_src is written exactly once.
bool tiles_exactly(const ops::Window2d& window, const ImageView& src) {
  return window.kernel_h == window.stride_h && window.kernel_w == window.stride_w && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0 &&
         src.height % window.kernel_h == 0 && src.width % window.kernel_w == 0;
}

// The gradient of one row of outputs; adds to d_x unless the windows tile the image.
template <int L, bool Tiles, bool Masked>
void unpool_row(const ops::Window2d& window, const ImageView& src, const ImageView& dst, std::int64_t oh,
                const float* d_y, const std::uint8_t* choice, const float* y, float* d_x) {
  using V = Vec<L>;
  const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
  for (std::int64_t ow = 0; ow < dst.width; ++ow) {
    const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
    const std::int64_t at = (oh * dst.width + ow) * dst.pixel_stride;
    auto gradient = V::load(d_y + at);
    if constexpr (Masked) gradient = V::load(y + at) > 0 ? gradient : typename V::Floats{};
    const auto place = load_choice<L>(choice + at);
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      float* row = d_x + ((rows.origin + ky) * src.width + columns.origin) * src.pixel_stride;
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
        const auto here = place == static_cast<std::int32_t>(ky * window.kernel_w + kx);
        const auto share = here ? gradient : typename V::Floats{};
        float* to = row + kx * src.pixel_stride;
        V::store(to, Tiles ? share : V::load(to) + share);
      }
    }
  }
}

void run_forward(const Arguments& arguments) {
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const auto& window = arguments.node.attrs<ops::MaxPoolAttrs>().window;
  with_lanes(src.lanes, [&]<int L>() {
    parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t n = begin; n < end; ++n)
        for (std::int64_t oh = 0; oh < dst.height; ++oh)
          for (std::int64_t b = 0; b < src.blocks; ++b) {
            const std::int64_t to = n * dst.image_stride + b * dst.block_stride;
            pool_row<L>(window, src, dst, oh, channel_lanes<L>(src, b),
                        arguments.input<float>(0) + n * src.image_stride + b * src.block_stride,
                        arguments.output<float>(0) + to, arguments.output<std::uint8_t>(1) + to);
          }
    });
  });
}

template <int L, bool Tiles, bool Masked>
void unpool_images(const Arguments& arguments, const ImageView& src, const ImageView& dst) {
  const ops::Window2d& window = arguments.node.attrs<ops::MaxPoolGradAttrs>().window;
  parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      float* d_x = arguments.output<float>(0) + n * src.image_stride;
      if (!Tiles) std::fill(d_x, d_x + src.image_stride, 0.0f);
      for (std::int64_t oh = 0; oh < dst.height; ++oh)
        for (std::int64_t b = 0; b < src.blocks; ++b) {
          const std::int64_t from = n * dst.image_stride + b * dst.block_stride;
          unpool_row<L, Tiles, Masked>(
              window, src, dst, oh, arguments.input<float>(0) + from, arguments.input<std::uint8_t>(1) + from,
              Masked ? arguments.input<float>(2) + from : nullptr, d_x + b * src.block_stride);
        }
    }
  });
}

void run_d_src(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::MaxPoolGradAttrs>();
  const ImageView dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView src(arguments.io.outputs[0], arguments.node.output_shape(0));
  const bool tiles = tiles_exactly(attrs.window, src);
  with_lanes(src.lanes, [&]<int L>() {
    if (tiles && attrs.mask_by_dst) return unpool_images<L, true, true>(arguments, src, dst);
    if (tiles) return unpool_images<L, true, false>(arguments, src, dst);
    if (attrs.mask_by_dst) return unpool_images<L, false, true>(arguments, src, dst);
    unpool_images<L, false, false>(arguments, src, dst);
  });
}

Decision accept(const KernelRequest& request) { return wants_image(request.node); }

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout, layout}, 0, {}},
                                          run_forward);
}

// Follows the layout in which the forward pass left the choice.
std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  KernelIo io{{layout, layout}, {layout}, 0, {}};
  if (request.node.inputs() == 3) io.inputs.push_back(layout);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_d_src);
}

}  // namespace

std::vector<Candidate> max_pool_candidates() {
  return {{&ops::max_pool_op, "own:max_pool", accept, make_forward},
          {&ops::max_pool_d_src_op, "own:max_pool_d_src", accept, make_d_src}};
}

}  // namespace trainyard::backend::onednn
