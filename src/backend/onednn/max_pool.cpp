#include "ops/max_pool.h"

#include <algorithm>
#include <limits>

#include "backend/onednn/blocked_image.h"
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
template <int B>
typename Vec<B>::Ints channel_lanes(const BlockedImage& image, std::int64_t block) {
  typename Vec<B>::Ints lanes;
  for (int lane = 0; lane < B; ++lane) lanes[lane] = block * B + lane < image.channels ? -1 : 0;
  return lanes;
}

template <int B>
void pool_plane(const ops::Window2d& window, const BlockedImage& src, const BlockedImage& dst,
                typename Vec<B>::Ints lanes, const float* x, float* y, std::uint8_t* choice) {
  using V = Vec<B>;
  for (std::int64_t oh = 0; oh < dst.height; ++oh) {
    const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
    for (std::int64_t ow = 0; ow < dst.width; ++ow, y += B, choice += B) {
      const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
      auto best = V::splat(-std::numeric_limits<float>::infinity());
      typename V::Ints place{};
      for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
        const float* row = x + ((rows.origin + ky) * src.width + columns.origin) * B;
        for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
          const auto value = V::load(row + kx * B);
          const auto larger = value > best;
          best = larger ? value : best;
          place =
              larger ? (typename V::Ints{} + static_cast<std::int32_t>(ky * window.kernel_w + kx)) : place;
        }
      }
      V::store(y, best);
      const auto bytes = __builtin_convertvector(place & lanes, typename V::Bytes);
      std::memcpy(choice, &bytes, sizeof bytes);
    }
  }
}

template <int B>
typename Vec<B>::Ints load_choice(const std::uint8_t* choice) {
  typename Vec<B>::Bytes bytes;
  std::memcpy(&bytes, choice, sizeof bytes);
  return __builtin_convertvector(bytes, typename Vec<B>::Ints);
}

// The windows neither overlap nor leave gaps, so every element of d_src is written exactly once.
bool tiles_exactly(const ops::Window2d& window, const BlockedImage& src) {
  return window.kernel_h == window.stride_h && window.kernel_w == window.stride_w && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0 &&
         src.height % window.kernel_h == 0 && src.width % window.kernel_w == 0;
}

template <int B>
void unpool_plane(const ops::Window2d& window, const BlockedImage& src, const BlockedImage& dst,
                  const float* d_y, const std::uint8_t* choice, const float* y, float* d_x) {
  using V = Vec<B>;
  const bool tiles = tiles_exactly(window, src);
  if (!tiles) std::fill(d_x, d_x + src.plane(), 0.0f);
  for (std::int64_t oh = 0; oh < dst.height; ++oh) {
    const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
    for (std::int64_t ow = 0; ow < dst.width; ++ow, d_y += B, choice += B) {
      const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
      auto gradient = V::load(d_y);
      if (y != nullptr) {
        gradient = V::load(y) > 0 ? gradient : typename V::Floats{};
        y += B;
      }
      const auto place = load_choice<B>(choice);
      for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
        float* row = d_x + ((rows.origin + ky) * src.width + columns.origin) * B;
        for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
          const auto here = place == static_cast<std::int32_t>(ky * window.kernel_w + kx);
          const auto share = here ? gradient : typename V::Floats{};
          V::store(row + kx * B, tiles ? share : V::load(row + kx * B) + share);
        }
      }
    }
  }
}

void run_forward(const Arguments& arguments) {
  const BlockedImage src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const BlockedImage dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const auto& window = arguments.node.attrs<ops::MaxPoolAttrs>().window;
  with_block(src.block, [&]<int B>() {
    parallel_chunks(src.planes(), 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p)
        pool_plane<B>(window, src, dst, channel_lanes<B>(src, p % src.blocks),
                      arguments.input<float>(0) + p * src.plane(),
                      arguments.output<float>(0) + p * dst.plane(),
                      arguments.output<std::uint8_t>(1) + p * dst.plane());
    });
  });
}

void run_d_src(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::MaxPoolGradAttrs>();
  const BlockedImage dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const BlockedImage src(arguments.io.outputs[0], arguments.node.output_shape(0));
  const float* y = attrs.mask_by_dst ? arguments.input<float>(2) : nullptr;
  with_block(src.block, [&]<int B>() {
    parallel_chunks(src.planes(), 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p)
        unpool_plane<B>(attrs.window, src, dst, arguments.input<float>(0) + p * dst.plane(),
                        arguments.input<std::uint8_t>(1) + p * dst.plane(),
                        y == nullptr ? nullptr : y + p * dst.plane(),
                        arguments.output<float>(0) + p * src.plane());
    });
  });
}

Decision accept(const KernelRequest& request) { return wants_image(request.node); }

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = blocked_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout, layout}, 0, {}},
                                          run_forward);
}

// Follows the layout in which the forward pass left the choice.
std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const Layout layout = blocked_layout(request, 1);
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
