#include "backend/cuda/input/input_kernels.h"

#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// So many squares of a byte from each lane of a warp surely fit into 32 bits together.
constexpr int kPixelsPerSum = 1024;

// Cut is the window that becomes one image of the batch; 32 bits suffice within an image.
struct Cut {
  const std::uint8_t* image;
  int height, width;          // of the image
  int out_height, out_width;  // of the window
  int top, left;
  bool flip;

  __device__ int plane() const { return out_height * out_width; }

  // Returns the first pixel of row `row` of a channel, as if the row were wholly on the image.
  __device__ const std::uint8_t* row_of(int channel, int row) const {
    return image + (static_cast<std::int64_t>(channel) * height + top + row) * width + left;
  }
  __device__ bool has_row(int row) const { return top + row >= 0 && top + row < height; }
  __device__ unsigned pixel(const std::uint8_t* row, int column) const {
    const int x = flip ? out_width - 1 - column : column;
    return left + x >= 0 && left + x < width ? row[x] : 0u;
  }
};

__device__ Cut cut_of(const InputBatch& batch, const InputBatchMemory& memory, std::int64_t index,
                      const Philox::Block& draws) {
  const ImagePlace place = training_place(batch.recipe, batch.image, batch.output, draws);
  return {memory.images + index * (batch.channels * batch.image.height * batch.image.width),
          static_cast<int>(batch.image.height),
          static_cast<int>(batch.image.width),
          static_cast<int>(batch.output.height),
          static_cast<int>(batch.output.width),
          static_cast<int>(place.top),
          static_cast<int>(place.left),
          place.flip};
}

// Adds this block's pixels of one channel; integers, so the order does not matter.
__device__ void add_pixels(const Cut& cut, int channel, unsigned long long* sum,
                           unsigned long long* squares) {
  const int threads = static_cast<int>(blockDim.x), pixels = cut.plane();
  for (int first = 0; first < pixels; first += threads * kPixelsPerSum) {
    const int end = pixels - first < threads * kPixelsPerSum ? pixels : first + threads * kPixelsPerSum;
    unsigned mine = 0, my_squares = 0;
    for (int i = first + static_cast<int>(threadIdx.x); i < end; i += threads) {
      const int row = i / cut.out_width;
      if (!cut.has_row(row)) continue;
      const unsigned pixel = cut.pixel(cut.row_of(channel, row), i - row * cut.out_width);
      mine += pixel;
      my_squares += pixel * pixel;
    }
    mine = __reduce_add_sync(0xFFFFFFFFu, mine);
    my_squares = __reduce_add_sync(0xFFFFFFFFu, my_squares);
    if (threadIdx.x % 32 == 0) {
      atomicAdd(sum, static_cast<unsigned long long>(mine));
      atomicAdd(squares, static_cast<unsigned long long>(my_squares));
    }
  }
}

// Makes the numbers that normalise each channel: out = (x - centres[c]) * scale. `sums` has room for one
// number more than there are channels, the sum of squares.
__device__ float standardise(const Cut& cut, int channels, float contrast, unsigned long long* sums,
                             float* centres) {
  for (int c = static_cast<int>(threadIdx.x); c <= channels; c += static_cast<int>(blockDim.x)) sums[c] = 0;
  __syncthreads();
  for (int c = 0; c < channels; ++c) add_pixels(cut, c, &sums[c], &sums[channels]);
  __syncthreads();
  WindowSums total;
  for (int c = 0; c < channels; ++c) {
    const auto channel_sum = static_cast<double>(sums[c]);
    total.sum += channel_sum;
    total.squared_sums += channel_sum * channel_sum;
  }
  total.squares = static_cast<double>(sums[channels]);
  const StandardMap<double> map(total, channels, cut.plane(), contrast);
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x))
    centres[c] = map.centre(static_cast<double>(sums[c]));
  __syncthreads();
  return map.scale;
}

// One block an image. kWidth divides the width of the output: neighbours of one row are written together.
template <int kWidth>
__global__ void make_batch(InputBatch batch, InputBatchMemory memory) {
  extern __shared__ unsigned long long shared[];
  const std::int64_t sample = blockIdx.x;
  const std::int64_t position =
      first_position(memory.context->step, batch.batch, batch.worker, batch.workers) + sample;
  const std::int64_t index = batch.order.index(position);
  if (threadIdx.x == 0) memory.batch_labels[sample] = memory.labels[index];
  const Philox::Block draws = image_draws(batch.order.seed(), position);
  const Cut cut = cut_of(batch, memory, index, draws);

  const bool standard = batch.recipe.standardise;
  const int channels = static_cast<int>(batch.channels), plane = cut.plane(), values = channels * plane;
  auto* centres = reinterpret_cast<float*>(shared + channels + 1);
  const float scale =
      standard ? standardise(cut, channels, training_contrast(batch.recipe, draws), shared, centres)
               : batch.recipe.scale;
  float* out = memory.batch_images + sample * values;
  for (int i = static_cast<int>(threadIdx.x) * kWidth; i < values;
       i += static_cast<int>(blockDim.x) * kWidth) {
    const int channel = i / plane, within = i - channel * plane, row = within / cut.out_width;
    const int column = within - row * cut.out_width;
    const float centre = standard ? centres[channel] : batch.recipe.centre;
    const bool inside = cut.has_row(row);
    const std::uint8_t* from = cut.row_of(channel, row);
    Vector<float, kWidth> made;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const unsigned pixel = inside ? cut.pixel(from, column + k) : 0u;
      made.at[k] = (static_cast<float>(pixel) - centre) * scale;
    }
    *reinterpret_cast<Vector<float, kWidth>*>(out + i) = made;
  }
}

}  // namespace

void input_batch(cudaStream_t stream, const InputBatch& batch, const InputBatchMemory& memory) {
  const std::int64_t values = batch.channels * batch.output.height * batch.output.width;
  const bool by_four = batch.output.width % 4 == 0;
  const std::int64_t pieces = by_four ? values / 4 : values;
  const auto threads = static_cast<unsigned>(std::min<std::int64_t>((pieces + 31) / 32 * 32, kThreads));
  const auto blocks = static_cast<unsigned>(batch.batch);
  const std::size_t shared = batch.recipe.standardise
                                 ? static_cast<std::size_t>(batch.channels + 1) * sizeof(unsigned long long) +
                                       static_cast<std::size_t>(batch.channels) * sizeof(float)
                                 : 0;
  if (by_four)
    make_batch<4><<<blocks, threads, shared, stream>>>(batch, memory);
  else
    make_batch<1><<<blocks, threads, shared, stream>>>(batch, memory);
  check_launch("input_batch");
}

namespace {

__global__ void take(InputRingMemory memory) {
  const std::int64_t step = memory.context->step;
  if (thread_index() == 0) memory.begins[step % memory.begins_count] = global_nanoseconds();
  const uint4* from = memory.ring + static_cast<std::size_t>(step % memory.places) * memory.place_words;
  for (std::size_t i = thread_index(); i < memory.image_words; i += thread_count())
    memory.images[i] = from[i];
  for (std::size_t i = thread_index(); i < memory.label_words; i += thread_count())
    memory.labels[i] = from[memory.labels_at + i];
}

}  // namespace

void take_from_ring(cudaStream_t stream, const InputRingMemory& memory) {
  take<<<grid_for(memory.image_words), kThreads, 0, stream>>>(memory);
  check_launch("take_from_ring");
}

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

// Computes the same map as image::to_planes() on the host.
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
  // Every block of a standardised image would have to sum all of it, so one block makes the whole image.
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
