#include "backend/cuda/device/conv2d_small_images.h"

#include "backend/cuda/device/launch.cuh"
#include "backend/cuda/device/tensor_cores.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kKernel = 5, kTaps = kKernel * kKernel;
constexpr int kOutputs = 64;
// A matrix product: outputs x pixels x (taps and channels). A block has all outputs and kColumnTiles tiles of
// 8 columns, and sums over the pixels of its images; 4 warps share the outputs, 2 the columns.
constexpr int kColumnTiles = 20, kWarps = 8, kTilesOfWarp = kColumnTiles / 2;
constexpr int kMaxShared = 227 << 10;

template <int kChannels>
constexpr int kPixel = kChannels + 8;

// What one image takes in shared memory: the image with its padding, and the gradient in whole tiles of 16
// pixels. Two of them, so that the next image comes while this one is multiplied.
template <int kChannels>
struct Room {
  int width, image_pixels, gradient_pixels;

  __host__ __device__ explicit Room(const SmallImages& s)
      : width(s.out_w + kKernel - 1),
        image_pixels((s.out_h + kKernel - 1) * width),
        gradient_pixels((s.out_h * s.out_w + 15) / 16 * 16) {}
  __host__ __device__ int numbers() const {
    return image_pixels * kPixel<kChannels> + gradient_pixels * kPixel<kOutputs>;
  }
  __device__ int gradient_at() const { return image_pixels * kPixel<kChannels>; }
};

template <int kChannels>
__device__ void load_image(const SmallImages& s, const Room<kChannels>& room, const bf16* d_dst,
                           const bf16* src, int image, std::uint32_t to) {
  constexpr int kPieces = kChannels / 8, kGradientPieces = kOutputs / 8;
  src += static_cast<std::int64_t>(image) * s.height * s.width * kChannels;
  d_dst += static_cast<std::int64_t>(image) * s.out_h * s.out_w * kOutputs;
  for (int i = threadIdx.x; i < room.image_pixels * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, pixel = i / kPieces;
    const int y = pixel / room.width - s.pad_top, x = pixel % room.width - s.pad_left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    copy_async_16(to + (pixel * kPixel<kChannels> + piece * 8) * sizeof(bf16),
                  src + (inside ? (y * s.width + x) * kChannels + piece * 8 : 0), inside);
  }
  to += room.gradient_at() * sizeof(bf16);
  for (int i = threadIdx.x; i < room.gradient_pixels * kGradientPieces; i += blockDim.x) {
    const int piece = i % kGradientPieces, pixel = i / kGradientPieces;
    const bool inside = pixel < s.out_h * s.out_w;
    copy_async_16(to + (pixel * kPixel<kOutputs> + piece * 8) * sizeof(bf16),
                  d_dst + (inside ? pixel * kOutputs + piece * 8 : 0), inside);
  }
}

// Where the image begins that a column tile reads, counted from a pixel's own place.
template <int kChannels>
__device__ int column_offset(const Room<kChannels>& room, int tile) {
  const int column = tile * 8, tap = column / kChannels;
  return (tap / kKernel * room.width + tap % kKernel) * kPixel<kChannels> + column % kChannels;
}

template <int kChannels>
__device__ void add_image(const SmallImages& s, const Room<kChannels>& room, std::uint32_t at, int first_tile,
                          float (&sum)[kTilesOfWarp][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint32_t offsets[kTilesOfWarp / 2];
#pragma unroll
  for (int n = 0; n < kTilesOfWarp / 2; ++n)
    offsets[n] = (column_offset(room, first_tile + 2 * n) + (lane >> 4) * 8) * sizeof(bf16);
  const std::uint32_t gradient =
      at + (room.gradient_at() + ((lane & 7) + (lane >> 4) * 8) * kPixel<kOutputs> + warp % 4 * 16 +
            (lane >> 3 & 1) * 8) *
               sizeof(bf16);
  const int pixels = s.out_h * s.out_w;
  const int lane_pixel = (lane & 7) + (lane >> 3 & 1) * 8;
  int x = lane_pixel % s.out_w, place = lane_pixel / s.out_w * room.width + x;
#pragma unroll 2
  for (int first = 0; first < pixels; first += 16) {
    std::uint32_t a[4];
    load_matrices_transposed(a, gradient + first * kPixel<kOutputs> * sizeof(bf16));
    // Beyond the last pixel the gradient is zero, and any place will do.
    const int valid = first + lane_pixel < pixels ? place : 0;
    const std::uint32_t image = at + valid * kPixel<kChannels> * sizeof(bf16);
    for (x += 16, place += 16; x >= s.out_w; x -= s.out_w) place += kKernel - 1;
#pragma unroll
    for (int n = 0; n < kTilesOfWarp / 2; ++n) {
      std::uint32_t b[4];
      load_matrices_transposed(b, image + offsets[n]);
      multiply_add(sum[2 * n], a, b[0], b[1]);
      multiply_add(sum[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// The gradient of the bias: four threads share an output's pixels.
template <int kChannels>
__device__ float bias_of_image(const SmallImages& s, const Room<kChannels>& room, const bf16* shared) {
  const bf16* gradient = shared + room.gradient_at();
  float sum = 0;
  for (int pixel = threadIdx.x / kOutputs; pixel < s.out_h * s.out_w; pixel += 32 * kWarps / kOutputs)
    sum += to_float(gradient[pixel * kPixel<kOutputs> + threadIdx.x % kOutputs]);
  return sum;
}

template <int kChannels>
__global__ void __launch_bounds__(32 * kWarps)
    d_weight_of_blocks(SmallImages s, const bf16* d_dst, const bf16* src, float* partials) {
  extern __shared__ __align__(16) bf16 shared[];
  __shared__ float bias_parts[32 * kWarps];
  constexpr int kWeights = kOutputs * kTaps * kChannels;
  const Room<kChannels> room(s);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_tile = blockIdx.y * kColumnTiles + warp / 4 * kTilesOfWarp;
  const std::uint32_t base = shared_address(shared), room_bytes = room.numbers() * sizeof(bf16);
  const int step = gridDim.x;
  int image = blockIdx.x;
  if (image < s.batch) load_image(s, room, d_dst, src, image, base);
  commit_copies();
  float sum[kTilesOfWarp][4] = {}, bias = 0;
  for (int turn = 0; image < s.batch; image += step, turn ^= 1) {
    if (image + step < s.batch) load_image(s, room, d_dst, src, image + step, base + (turn ^ 1) * room_bytes);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    add_image(s, room, base + turn * room_bytes, first_tile, sum);
    if (blockIdx.y == 0) bias += bias_of_image(s, room, shared + turn * room.numbers());
    __syncthreads();
  }
  float* to = partials + static_cast<std::int64_t>(blockIdx.x) * (kWeights + kOutputs);
#pragma unroll
  for (int n = 0; n < kTilesOfWarp; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int output = warp % 4 * 16 + lane / 4 + half * 8, column = (first_tile + n) * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(to + output * kTaps * kChannels + column) =
          make_float2(sum[n][half * 2], sum[n][half * 2 + 1]);
    }
  if (blockIdx.y > 0) return;
  bias_parts[threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.x >= kOutputs) return;
  for (int part = 1; part < 32 * kWarps / kOutputs; ++part) bias += bias_parts[part * kOutputs + threadIdx.x];
  to[kWeights + threadIdx.x] = bias;
}

// The sum over blocks, four columns a thread.
__global__ void __launch_bounds__(kThreads)
    add_blocks(int blocks, int weights, const float* partials, bf16* d_weight, float* d_bias) {
  const int at = static_cast<int>(thread_index()) * 4, count = weights + kOutputs;
  if (at >= count) return;
  float sum[4] = {};
#pragma unroll 8
  for (int b = 0; b < blocks; ++b) {
    const auto four = *reinterpret_cast<const float4*>(partials + static_cast<std::int64_t>(b) * count + at);
    sum[0] += four.x, sum[1] += four.y, sum[2] += four.z, sum[3] += four.w;
  }
  for (int i = 0; i < 4; ++i)
    if (at + i < weights)
      d_weight[at + i] = from_float<bf16>(sum[i]);
    else if (d_bias != nullptr)
      d_bias[at + i - weights] = sum[i];
}

int column_groups(const SmallImages& s) { return kTaps * s.channels / 8 / kColumnTiles; }

// One block on every multiprocessor, all with about as many images.
int image_groups(const SmallImages& s, int multiprocessors) {
  const int most = std::max(multiprocessors / column_groups(s), 1);
  const int each = (s.batch + most - 1) / most;
  return (s.batch + each - 1) / each;
}

template <int kChannels>
std::size_t shared_bytes(const SmallImages& s) {
  return 2 * sizeof(bf16) * static_cast<std::size_t>(Room<kChannels>(s).numbers());
}

template <int kChannels>
void start(cudaStream_t stream, const SmallImages& s, int groups, const bf16* d_dst, const bf16* src,
           float* workspace) {
  const std::size_t bytes = shared_bytes<kChannels>(s);
  TRAINYARD_CUDA(cudaFuncSetAttribute(d_weight_of_blocks<kChannels>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  d_weight_of_blocks<kChannels>
      <<<dim3(groups, column_groups(s)), 32 * kWarps, bytes, stream>>>(s, d_dst, src, workspace);
  check_launch("conv2d_d_weight_small_images");
}

}  // namespace

const char* SmallImages::decline_d_weight() const {
  if (kernel != kKernel) return "made for kernels of 5x5";
  if ((channels != 32 && channels != 64) || outputs != kOutputs)
    return "made for 32 or 64 channels and 64 outputs";
  const std::size_t bytes = channels == 32 ? shared_bytes<32>(*this) : shared_bytes<64>(*this);
  return bytes > kMaxShared ? "images are too large for shared memory" : nullptr;
}

std::size_t conv2d_d_weight_small_images_workspace(const SmallImages& sizes, int multiprocessors) {
  const std::size_t count = static_cast<std::size_t>(kOutputs) * (kTaps * sizes.channels + 1);
  return sizeof(float) * count * image_groups(sizes, multiprocessors);
}

void conv2d_d_weight_small_images(cudaStream_t stream, const SmallImages& sizes, int multiprocessors,
                                  const void* d_dst, const void* src, float* workspace, void* d_weight,
                                  float* d_bias) {
  const int groups = image_groups(sizes, multiprocessors), weights = kOutputs * kTaps * sizes.channels;
  if (sizes.channels == 32)
    start<32>(stream, sizes, groups, static_cast<const bf16*>(d_dst), static_cast<const bf16*>(src),
              workspace);
  else
    start<64>(stream, sizes, groups, static_cast<const bf16*>(d_dst), static_cast<const bf16*>(src),
              workspace);
  add_blocks<<<(weights + kOutputs + 4 * kThreads - 1) / (4 * kThreads), kThreads, 0, stream>>>(
      groups, weights, workspace, static_cast<bf16*>(d_weight), d_bias);
  check_launch("conv2d_d_weight_small_images");
}

}  // namespace trainyard::backend::cuda::device
