#include "backend/cuda/device/sample_gather.h"

#include "backend/cuda/device/clock.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// Pixels that a thread makes, so that a block has enough to do and an image enough blocks.
constexpr int kPixelsPerThread = 16;
// So many squares of a byte from each lane of a warp surely fit into 32 bits together.
constexpr int kBytesPerSum = 1024;

// The sums over all bytes of a sample, for every thread of the block; integers, so the order does not matter.
__device__ WindowSums sum_bytes(const std::uint8_t* bytes, int count) {
  __shared__ unsigned long long sums[2];
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  if (thread < 2) sums[thread] = 0;
  __syncthreads();
  for (std::int64_t first = 0; first < count; first += std::int64_t{threads} * kBytesPerSum) {
    const auto end = static_cast<int>(std::min<std::int64_t>(count, first + threads * kBytesPerSum));
    unsigned mine = 0, my_squares = 0;
    for (int i = static_cast<int>(first) + thread; i < end; i += threads) {
      const unsigned byte = bytes[i];
      mine += byte;
      my_squares += byte * byte;
    }
    mine = __reduce_add_sync(0xFFFFFFFFu, mine);
    my_squares = __reduce_add_sync(0xFFFFFFFFu, my_squares);
    if (thread % 32 == 0) {
      atomicAdd(&sums[0], static_cast<unsigned long long>(mine));
      atomicAdd(&sums[1], static_cast<unsigned long long>(my_squares));
    }
  }
  __syncthreads();
  return {.sum = static_cast<double>(sums[0]), .squares = static_cast<double>(sums[1])};
}

// As image::to_planes() does on the host.
__device__ PixelMap map_of(const PixelMap& map, const std::uint8_t* sample, int bytes) {
  if (!map.standardise) return map;
  const WindowSums sums = sum_bytes(sample, bytes);
  const StandardMap<double> standard(sums, 1, bytes, 1);
  const float centre = standard.centre(sums.sum);
  return {.centre = {centre, centre, centre}, .scale = standard.scale};
}

// Block (x, y) makes a part x of image y. kWidth divides the width of the image: neighbours of one row are
// written together.
template <int kChannels, int kWidth>
__global__ void gather(SampleGather gather, SampleGatherMemory memory) {
  const std::int64_t step = memory.context->step;
  const unsigned image = blockIdx.y;
  const std::byte* place = memory.ring + static_cast<std::size_t>(step % memory.places) * memory.place_bytes;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (image == 0) memory.begins[step % memory.begins_count] = global_nanoseconds();
    memory.labels[image] = reinterpret_cast<const std::int32_t*>(place + memory.labels_at)[image];
  }
  const GatheredSample chosen = reinterpret_cast<const GatheredSample*>(place)[image];
  const int width = static_cast<int>(gather.output.width);
  const int plane = width * static_cast<int>(gather.output.height), bytes = plane * kChannels;
  const std::uint8_t* sample = memory.samples + std::int64_t{chosen.index} * bytes;
  const PixelMap map = map_of(gather.map, sample, bytes);
  float* out = memory.images + std::int64_t{image} * bytes;
  const int stride = static_cast<int>(gridDim.x * blockDim.x) * kWidth;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kWidth; i < plane; i += stride) {
    const int row = i / width, column = i - row * width;
    Vector<float, kWidth> made[kChannels];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int from = row * width + (chosen.mirrored != 0 ? width - 1 - column - k : column + k);
#pragma unroll
      for (int c = 0; c < kChannels; ++c)
        made[c].at[k] = (static_cast<float>(sample[from * kChannels + c]) - map.centre[c]) * map.scale;
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
      *reinterpret_cast<Vector<float, kWidth>*>(out + c * plane + i) = made[c];
  }
}

template <int kChannels, int kWidth>
void launch(cudaStream_t stream, const SampleGather& sizes, const SampleGatherMemory& memory) {
  const std::int64_t pieces = sizes.output.height * sizes.output.width / kWidth;
  const auto threads = static_cast<unsigned>(std::min<std::int64_t>((pieces + 31) / 32 * 32, kThreads));
  // Each block of an image that is standardised would sum up all of it: one does.
  constexpr std::int64_t kPieces = kPixelsPerThread / kWidth;
  const std::int64_t blocks =
      sizes.map.standardise ? 1 : (pieces + threads * kPieces - 1) / (threads * kPieces);
  gather<kChannels, kWidth>
      <<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(sizes.batch)), threads, 0, stream>>>(
          sizes, memory);
}

}  // namespace

void gather_samples(cudaStream_t stream, const SampleGather& sizes, const SampleGatherMemory& memory) {
  const bool by_four = sizes.output.width % 4 == 0;
  if (sizes.channels == 1)
    by_four ? launch<1, 4>(stream, sizes, memory) : launch<1, 1>(stream, sizes, memory);
  else
    by_four ? launch<3, 4>(stream, sizes, memory) : launch<3, 1>(stream, sizes, memory);
  check_launch("gather_samples");
}

}  // namespace trainyard::backend::cuda::device
