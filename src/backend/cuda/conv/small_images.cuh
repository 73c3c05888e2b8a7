#pragma once

#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

// Convolutions over small images begin by loading bands of rows of one image to shared memory.
namespace trainyard::backend::cuda::device {

inline constexpr int kKernel = 5, kTaps = kKernel * kKernel;

// Bytes between neighbouring pixels in shared memory; the odd 16 bytes spread them over the banks.
template <typename T, int kChannels>
inline constexpr int kPixel = kChannels* static_cast<int>(sizeof(T)) + 16;

struct Band {
  int rows, shared_width;  // output rows of a block; pixels of a row in shared memory
  __host__ __device__ int shared_pixels() const { return (rows + kKernel - 1) * shared_width; }

  // Makes bands for blocks of so many output pixels.
  Band(const SmallImages& sizes, int pixels, int pool) : shared_width(sizes.out_w + kKernel - 1) {
    rows = std::min(pixels / sizes.out_w, sizes.out_h);
    // Bands of one height where that fills the block as well.
    const int bands = rows > 0 ? (sizes.out_h + rows - 1) / rows : 1;
    rows = (sizes.out_h + bands - 1) / bands;
    if (pool > 0) rows = (rows + pool - 1) / pool * pool;
  }
  const char* decline(const SmallImages& sizes, int pixels, std::size_t shared_bytes) const {
    return rows < 1 || rows * sizes.out_w > pixels ? "images are too wide"
           : shared_bytes > sizes.shared_limit     ? "images are too large for shared memory"
                                                   : nullptr;
  }
};

// Starts to copy the image around output rows [first, first + rows), with zeros outside of it.
template <typename T, int kChannels>
__device__ void load_band(const SmallImages& s, const T* image, int first, const Band& band,
                          std::uint32_t to) {
  constexpr int kPiece = 16 / sizeof(T), kPieces = kChannels / kPiece;
  for (int i = threadIdx.x; i < band.shared_pixels() * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, pixel = i / kPieces;
    const int y = first + pixel / band.shared_width - s.pad_top, x = pixel % band.shared_width - s.pad_left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    copy_async_16(to + pixel * kPixel<T, kChannels> + piece * 16,
                  image + (inside ? (y * s.width + x) * kChannels + piece * kPiece : 0), inside);
  }
}

// Finds the addresses of the rows that this lane loads of tiles of 16 pixels, from pixel `first` on: each row
// begins above and left of all taps.
template <typename T, int kChannels, int kTiles>
__device__ void find_rows(const SmallImages& s, const Band& band, int first, std::uint32_t shared,
                          std::uint32_t (&rows)[kTiles]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int pixel = first + m * 16 + lane % 16;
    const bool valid = pixel < band.rows * s.out_w;
    const int at = valid ? pixel / s.out_w * band.shared_width + pixel % s.out_w : 0;
    rows[m] = shared + at * kPixel<T, kChannels> + lane / 16 * 16;
  }
}

}  // namespace trainyard::backend::cuda::device
