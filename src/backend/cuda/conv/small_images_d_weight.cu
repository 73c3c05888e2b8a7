#include "backend/cuda/conv/small_images.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kOutputs = 64, kOutputTiles = kOutputs / 16;
// A matrix product: outputs x pixels x (taps and channels). A block has all outputs and kColumns columns, and
// sums over the pixels of its images. A warp has all outputs, too, so that it reads little for what it
// multiplies: kColumnWarps warps share the columns and kPixelWarps the pixels.
constexpr int kColumnWarps = 2, kPixelWarps = 4, kThreadCount = 32 * kColumnWarps * kPixelWarps;
constexpr int kColumnTiles = 10, kColumns = kColumnWarps * kColumnTiles * 8;

// Numbers between neighbouring pixels in shared memory. Matrices of bf16 are read by rows of 16 bytes, those
// of f32 word by word, of four pixels at once: the padding spreads either over the banks.
template <int kChannels>
constexpr int kRoomPixel = kChannels + 8;
// One product takes so many pixels.
template <typename T>
constexpr int kStep = 32 / static_cast<int>(sizeof(T));

// The shared memory of one image: the image with its padding, and the gradient in whole steps. A block has
// two of them, so that the next image arrives while this one is multiplied.
template <typename T, int kChannels>
struct Room {
  int width, image_pixels, gradient_pixels;

  __host__ __device__ explicit Room(const SmallImages& s)
      : width(s.out_w + kKernel - 1),
        image_pixels((s.out_h + kKernel - 1) * width),
        gradient_pixels((s.out_h * s.out_w + kStep<T> - 1) / kStep<T> * kStep<T>) {}
  __host__ __device__ int numbers() const {
    return image_pixels * kRoomPixel<kChannels> + gradient_pixels * kRoomPixel<kOutputs>;
  }
  __device__ int gradient_at() const { return image_pixels * kRoomPixel<kChannels>; }
};

template <typename T, int kChannels>
__device__ void load_image(const SmallImages& s, const Room<T, kChannels>& room, const T* d_dst, const T* src,
                           int image, std::uint32_t to) {
  constexpr int kPiece = 16 / sizeof(T), kPieces = kChannels / kPiece, kGradientPieces = kOutputs / kPiece;
  src += static_cast<std::int64_t>(image) * s.height * s.width * kChannels;
  d_dst += static_cast<std::int64_t>(image) * s.out_h * s.out_w * kOutputs;
  for (int i = threadIdx.x; i < room.image_pixels * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, pixel = i / kPieces;
    const int y = pixel / room.width - s.pad_top, x = pixel % room.width - s.pad_left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    copy_async_16(to + (pixel * kRoomPixel<kChannels> + piece * kPiece) * sizeof(T),
                  src + (inside ? (y * s.width + x) * kChannels + piece * kPiece : 0), inside);
  }
  to += room.gradient_at() * sizeof(T);
  for (int i = threadIdx.x; i < room.gradient_pixels * kGradientPieces; i += blockDim.x) {
    const int piece = i % kGradientPieces, pixel = i / kGradientPieces;
    const bool inside = pixel < s.out_h * s.out_w;
    copy_async_16(to + (pixel * kRoomPixel<kOutputs> + piece * kPiece) * sizeof(T),
                  d_dst + (inside ? pixel * kOutputs + piece * kPiece : 0), inside);
  }
}

// Returns the offset of the image that a column tile reads, counted from the place of a pixel.
template <typename T, int kChannels>
__device__ int column_offset(const Room<T, kChannels>& room, int tile) {
  const int column = tile * 8, tap = column / kChannels;
  return (tap / kKernel * room.width + tap % kKernel) * kRoomPixel<kChannels> + column % kChannels;
}

using WarpSums = float[kOutputTiles][kColumnTiles][4];

// The products of one image, every kPixelWarps-th step of its pixels.
template <int kChannels>
__device__ void add_image(const SmallImages& s, const Room<bf16, kChannels>& room, std::uint32_t at,
                          int first_tile, WarpSums& sum) {
  constexpr int kBytes = sizeof(bf16);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 / kColumnWarps;
  std::uint32_t offsets[kColumnTiles / 2];
#pragma unroll
  for (int n = 0; n < kColumnTiles / 2; ++n)
    offsets[n] = (column_offset(room, first_tile + 2 * n) + (lane >> 4) * 8) * kBytes;
  const std::uint32_t gradient =
      at +
      (room.gradient_at() + ((lane & 7) + (lane >> 4) * 8) * kRoomPixel<kOutputs> + (lane >> 3 & 1) * 8) *
          kBytes;
  const int pixels = s.out_h * s.out_w, lane_pixel = lane % 16;
  for (int first = warp * kStep<bf16>; first < pixels; first += kPixelWarps * kStep<bf16>) {
    std::uint32_t a[kOutputTiles][4];
#pragma unroll
    for (int m = 0; m < kOutputTiles; ++m)
      load_matrices_transposed(a[m], gradient + (first * kRoomPixel<kOutputs> + m * 16) * kBytes);
    // Beyond the last pixel the gradient is zero, and any place will do.
    const int pixel = min(first + lane_pixel, pixels - 1), y = pixel / s.out_w;
    const std::uint32_t image = at + (y * room.width + pixel - y * s.out_w) * kRoomPixel<kChannels> * kBytes;
#pragma unroll
    for (int n = 0; n < kColumnTiles; n += 2) {
      std::uint32_t b[4];
      load_matrices_transposed(b, image + offsets[n / 2]);
#pragma unroll
      for (int m = 0; m < kOutputTiles; ++m) {
        multiply_add_bf16(sum[m][n], a[m], b[0], b[1]);
        multiply_add_bf16(sum[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

template <int kChannels>
__device__ void add_image(const SmallImages& s, const Room<float, kChannels>& room, std::uint32_t at,
                          int first_tile, WarpSums& sum) {
  constexpr int kBytes = sizeof(float);
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32 / kColumnWarps;
  std::uint32_t offsets[kColumnTiles];
#pragma unroll
  for (int n = 0; n < kColumnTiles; ++n) offsets[n] = (column_offset(room, first_tile + n) + g) * kBytes;
  const std::uint32_t gradient = at + (room.gradient_at() + t * kRoomPixel<kOutputs> + g) * kBytes;
  const int pixels = s.out_h * s.out_w;
  for (int first = warp * kStep<float>; first < pixels; first += kPixelWarps * kStep<float>) {
    std::uint32_t a[kOutputTiles][4];
#pragma unroll
    for (int m = 0; m < kOutputTiles; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[m][i] =
            load_word(gradient + ((first + i / 2 * 4) * kRoomPixel<kOutputs> + m * 16 + i % 2 * 8) * kBytes);
      round_to_tf32(a[m]);
    }
    std::uint32_t image[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = min(first + half * 4 + t, pixels - 1), y = pixel / s.out_w;
      image[half] = at + (y * room.width + pixel - y * s.out_w) * kRoomPixel<kChannels> * kBytes;
    }
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      std::uint32_t b[2] = {load_word(image[0] + offsets[n]), load_word(image[1] + offsets[n])};
      round_to_tf32(b);
#pragma unroll
      for (int m = 0; m < kOutputTiles; ++m) multiply_add_tf32(sum[m][n], a[m], b[0], b[1]);
    }
  }
}

// The gradient of the bias: a thread has four outputs of every kBiasRows-th pixel.
constexpr int kBiasRows = kThreadCount / (kOutputs / 4);

template <typename T, int kChannels>
__device__ void add_bias_of_image(const SmallImages& s, const Room<T, kChannels>& room, const T* shared,
                                  float (&bias)[4]) {
  const T* gradient = shared + room.gradient_at() + threadIdx.x % (kOutputs / 4) * 4;
#pragma unroll 4
  for (int pixel = threadIdx.x / (kOutputs / 4); pixel < s.out_h * s.out_w; pixel += kBiasRows) {
    const auto four = *reinterpret_cast<const Vector<T, 4>*>(gradient + pixel * kRoomPixel<kOutputs>);
#pragma unroll
    for (int i = 0; i < 4; ++i) bias[i] += to_float(four.at[i]);
  }
}

__device__ void write_bias(const float (&bias)[4], float* shared, float* to) {
  *reinterpret_cast<float4*>(shared + threadIdx.x * 4) = make_float4(bias[0], bias[1], bias[2], bias[3]);
  __syncthreads();
  if (threadIdx.x >= kOutputs) return;
  float sum = 0;
#pragma unroll
  for (int row = 0; row < kBiasRows; ++row) sum += shared[row * kOutputs + threadIdx.x];
  to[threadIdx.x] = sum;
}

// Floats between outputs of a tile in shared memory.
constexpr int kSumRow = kColumns + 8;

// Warps that had the same columns and other pixels put their sums side by side.
__device__ void store_sums(const WarpSums& sum, float* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  shared += warp / kColumnWarps * kOutputs * kSumRow + warp % kColumnWarps * kColumnTiles * 8;
#pragma unroll
  for (int m = 0; m < kOutputTiles; ++m)
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(shared + (m * 16 + lane / 4 + half * 8) * kSumRow + n * 8 + lane % 4 * 2) =
            make_float2(sum[m][n][half * 2], sum[m][n][half * 2 + 1]);
}

// Their sum, in a fixed order, to the columns of this block.
__device__ void write_sums(const float* shared, int row_length, float* to) {
  constexpr int kPieces = kColumns / 4;
  for (int i = threadIdx.x; i < kOutputs * kPieces; i += kThreadCount) {
    const int output = i / kPieces, column = i % kPieces * 4;
    float4 sum{};
#pragma unroll
    for (int w = 0; w < kPixelWarps; ++w) {
      const auto four = *reinterpret_cast<const float4*>(shared + (w * kOutputs + output) * kSumRow + column);
      sum.x += four.x, sum.y += four.y, sum.z += four.z, sum.w += four.w;
    }
    *reinterpret_cast<float4*>(to + output * row_length + column) = sum;
  }
}

template <typename T, int kChannels>
__global__ void __launch_bounds__(kThreadCount, 1)
    d_weight_of_blocks(SmallImages s, const T* d_dst, const T* src, float* partials) {
  extern __shared__ __align__(16) std::uint8_t shared[];
  constexpr int kWeights = kOutputs * kTaps * kChannels;
  const Room<T, kChannels> room(s);
  const int first_tile = (blockIdx.y * kColumnWarps + threadIdx.x / 32 % kColumnWarps) * kColumnTiles;
  const std::uint32_t base = shared_address(shared), room_bytes = room.numbers() * sizeof(T);
  const int step = gridDim.x;
  int image = blockIdx.x;
  if (image < s.batch) load_image(s, room, d_dst, src, image, base);
  commit_copies();
  WarpSums sum = {};
  float bias[4] = {};
  for (int turn = 0; image < s.batch; image += step, turn ^= 1) {
    if (image + step < s.batch) load_image(s, room, d_dst, src, image + step, base + (turn ^ 1) * room_bytes);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    add_image(s, room, base + turn * room_bytes, first_tile, sum);
    if (blockIdx.y == 0)
      add_bias_of_image(s, room, reinterpret_cast<T*>(shared) + turn * room.numbers(), bias);
    __syncthreads();
  }
  auto* sums = reinterpret_cast<float*>(shared);
  float* to = partials + static_cast<std::int64_t>(blockIdx.x) * (kWeights + kOutputs);
  if (blockIdx.y == 0) {
    write_bias(bias, sums, to + kWeights);
    __syncthreads();
  }
  store_sums(sum, sums);
  __syncthreads();
  write_sums(sums, kTaps * kChannels, to + blockIdx.y * kColumns);
}

// The sum over blocks: two threads share two columns.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_blocks(int blocks, int weights, const float* partials, T* d_weight, float* d_bias) {
  const int at = static_cast<int>(thread_index()) / 64 * 64 + threadIdx.x % 32 * 2;
  const int first = threadIdx.x / 32 % 2, count = weights + kOutputs;
  __shared__ float2 of_second[kThreads / 2];
  float2 sum{};
  if (at < count)
#pragma unroll 14
    for (int b = first; b < blocks; b += 2) {
      const auto two = *reinterpret_cast<const float2*>(partials + static_cast<std::int64_t>(b) * count + at);
      sum.x += two.x, sum.y += two.y;
    }
  float2& other = of_second[threadIdx.x / 64 * 32 + threadIdx.x % 32];
  if (first == 1) other = sum;
  __syncthreads();
  if (first == 1 || at >= count) return;
  sum.x += other.x, sum.y += other.y;
  if (at < weights)
    *reinterpret_cast<Vector<T, 2>*>(d_weight + at) = {from_float<T>(sum.x), from_float<T>(sum.y)};
  else if (d_bias != nullptr)
    *reinterpret_cast<float2*>(d_bias + at - weights) = sum;
}

int column_groups(const SmallImages& s) { return kTaps * s.channels / kColumns; }

// Gives every multiprocessor one block, and all blocks about as many images.
int image_groups(const SmallImages& s, int multiprocessors) {
  const int most = std::max(multiprocessors / column_groups(s), 1);
  const int each = (s.batch + most - 1) / most;
  return (s.batch + each - 1) / each;
}

template <typename T, int kChannels>
std::size_t shared_bytes(const SmallImages& s) {
  constexpr std::size_t kGiven = sizeof(float) * kPixelWarps * kOutputs * kSumRow;
  return std::max(2 * sizeof(T) * static_cast<std::size_t>(Room<T, kChannels>(s).numbers()), kGiven);
}

template <typename T, int kChannels>
void start(cudaStream_t stream, const SmallImages& s, int groups, const T* d_dst, const T* src,
           float* workspace) {
  const std::size_t bytes = shared_bytes<T, kChannels>(s);
  TRAINYARD_CUDA(cudaFuncSetAttribute(d_weight_of_blocks<T, kChannels>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  d_weight_of_blocks<T, kChannels>
      <<<dim3(groups, column_groups(s)), kThreadCount, bytes, stream>>>(s, d_dst, src, workspace);
  check_launch("conv2d_d_weight_small_images");
}

}  // namespace

template <typename T>
const char* SmallImages::decline_d_weight() const {
  if (kernel != kKernel) return "made for kernels of 5x5";
  if ((channels != 32 && channels != 64) || outputs != kOutputs)
    return "made for 32 or 64 channels and 64 outputs";
  const std::size_t bytes = channels == 32 ? shared_bytes<T, 32>(*this) : shared_bytes<T, 64>(*this);
  return bytes > shared_limit ? "images are too large for shared memory" : nullptr;
}

std::size_t conv2d_d_weight_small_images_workspace(const SmallImages& sizes, int multiprocessors) {
  const std::size_t count = static_cast<std::size_t>(kOutputs) * (kTaps * sizes.channels + 1);
  return sizeof(float) * count * image_groups(sizes, multiprocessors);
}

template <typename T>
void conv2d_d_weight_small_images(cudaStream_t stream, const SmallImages& sizes, int multiprocessors,
                                  const T* d_dst, const T* src, float* workspace, T* d_weight,
                                  float* d_bias) {
  const int groups = image_groups(sizes, multiprocessors), weights = kOutputs * kTaps * sizes.channels;
  if (sizes.channels == 32)
    start<T, 32>(stream, sizes, groups, d_dst, src, workspace);
  else
    start<T, 64>(stream, sizes, groups, d_dst, src, workspace);
  add_blocks<<<(weights + kOutputs + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      groups, weights, workspace, d_weight, d_bias);
  check_launch("conv2d_d_weight_small_images");
}

#define TRAINYARD_INSTANTIATE(T)                                                                        \
  template const char* SmallImages::decline_d_weight<T>() const;                                        \
  template void conv2d_d_weight_small_images(cudaStream_t, const SmallImages&, int, const T*, const T*, \
                                             float*, T*, float*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
