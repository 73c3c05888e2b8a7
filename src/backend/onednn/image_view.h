#pragma once

#include <cstdint>
#include <cstring>

#include "backend/function_kernel.h"

// Own kernels work on images whose channels lie side by side: channels last ("acdb"), or in blocks of 8 or 16
// ("aBcd16b"), the layouts convolutions choose. Either way a few neighbouring channels of one pixel are one
// vector, so a loop over pixels needs no shuffles, whatever the window.
namespace trainyard::backend::onednn {

// A vector of L floats, by the compiler's vector extension.
template <int L>
struct Vec {
  typedef float Floats __attribute__((vector_size(L * 4)));
  typedef std::int32_t Ints __attribute__((vector_size(L * 4)));
  typedef std::uint8_t Bytes __attribute__((vector_size(L)));

  // Loads and stores count as accesses to floats, not to bytes that could be anything, so that the compiler
  // need not read sizes and strides again after every store.
  typedef float Unaligned __attribute__((vector_size(L * 4), aligned(4)));
  static Floats load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static void store(float* p, Floats v) { *reinterpret_cast<Unaligned*>(p) = v; }
  // x - 0 is x for every x, so this is a broadcast and nothing else; x + 0 would have to mind the sign of
  // zero.
  static Floats splat(float x) { return x - Floats{}; }
};

// Where the vectors of an image lie: element (n, b, pixel) begins at n * image_stride + b * block_stride +
// pixel * pixel_stride, b counting blocks of `lanes` channels.
struct ImageView {
  std::int64_t images, channels, height, width;
  int lanes;  // 16, 8, 4 or 1
  std::int64_t blocks;
  std::int64_t pixel_stride, block_stride, image_stride;

  ImageView(const Layout& layout, const Shape& shape);
  std::int64_t pixels() const { return height * width; }
  std::int64_t padded_channels() const { return blocks * lanes; }
  bool pads() const { return padded_channels() != channels; }
  std::int64_t floats() const { return images * image_stride; }
};

bool is_vector_layout(const Layout& layout);
// The layout in which this machine's convolutions are fastest.
const Layout& preferred_image_layout();
// Keeps a layout that suits our kernels as it is; anything else becomes the preferred one.
Layout image_layout(const KernelRequest& request, int input);

// "wants an image" unless the input is f32 of rank 4.
Decision wants_image(const graph::NodeView& node);

// Calls function.template operator()<L>() with the number of lanes as a constant.
template <typename Function>
void with_lanes(int lanes, const Function& function) {
  switch (lanes) {
    case 16:
      return function.template operator()<16>();
    case 8:
      return function.template operator()<8>();
    case 4:
      return function.template operator()<4>();
    default:
      TRAINYARD_CHECK(lanes == 1);
      return function.template operator()<1>();
  }
}

// Calls body(first, last) for runs of pixels short enough that all channels of a run stay in the first-level
// cache while the blocks of channels are visited one by one.
template <typename Body>
void for_each_strip(const ImageView& image, const Body& body) {
  const std::int64_t strip = std::max<std::int64_t>(8, 4096 / image.padded_channels());
  for (std::int64_t first = 0; first < image.pixels(); first += strip)
    body(first, std::min(first + strip, image.pixels()));
}

}  // namespace trainyard::backend::onednn
