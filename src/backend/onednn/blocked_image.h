#pragma once

#include <cstdint>
#include <cstring>

#include "backend/function_kernel.h"

// Own kernels work on images whose channels lie in blocks of 8 or 16 ("aBcd16b"), the layout convolutions
// choose: one block is one vector register (or two), so a loop over pixels needs no shuffles, whatever the
// window.
namespace trainyard::backend::onednn {

// A vector of B floats, by the compiler's vector extension.
template <int B>
struct Vec {
  typedef float Floats __attribute__((vector_size(B * 4)));
  typedef std::int32_t Ints __attribute__((vector_size(B * 4)));
  typedef std::uint8_t Bytes __attribute__((vector_size(B)));

  static Floats load(const float* p) {
    Floats v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, Floats v) { std::memcpy(p, &v, sizeof v); }
  static Floats splat(float x) { return Floats{} + x; }
};

struct BlockedImage {
  std::int64_t images, channels, blocks, height, width;
  int block;

  BlockedImage(const Layout& layout, const Shape& shape);
  std::int64_t pixels() const { return height * width; }
  std::int64_t plane() const { return pixels() * block; }  // floats in one block of channels of one image
  std::int64_t planes() const { return images * blocks; }
};

bool is_blocked(const Layout& layout);
// Blocks as wide as this machine's vectors.
const Layout& preferred_blocked_layout();
// Keeps a blocked layout as it is; anything else becomes the preferred one.
Layout blocked_layout(const KernelRequest& request, int input);

// "wants an image" unless the input is f32 of rank 4.
Decision wants_image(const graph::NodeView& node);

// Calls function.template operator()<B>() with the block as a constant.
template <typename Function>
void with_block(int block, const Function& function) {
  if (block == 16) return function.template operator()<16>();
  TRAINYARD_CHECK(block == 8);
  function.template operator()<8>();
}

}  // namespace trainyard::backend::onednn
