#include "backend/cuda/conv/conv2d_kernels.h"

#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/runtime/launch.cuh"

// A lane is an output channel and keeps that channel's weights (or their gradient) in registers; a warp walks
// along a row of pooled pixels. So images are read from shared memory by all lanes at once, and outputs are
// written side by side.
namespace trainyard::backend::cuda::device {
namespace {

// A block makes kRows pooled rows, each shared by kParts warps.
constexpr int kRows = 4, kParts = 2, kWarps = kRows * kParts;

// Part holds the pixels of its row that are this warp's.
struct Part {
  int row, begin, end;
  __device__ explicit Part(const FewChannels& sizes) {
    const int warp = threadIdx.x / 32, each = (sizes.pooled_w + kParts - 1) / kParts;
    row = warp / kParts;
    begin = warp % kParts * each;
    end = min(begin + each, sizes.pooled_w);
  }
};

// The part of an image that a block reads, with zeros where the convolution pads.
template <int kKernel, int kChannels, int kPool>
struct Strip {
  static constexpr int kHeight = 2 * kRows + kPool - 2 + kKernel - 1;

  // Even, so that pairs of columns can be read at once; and such that places of one pooling window, which
  // lanes read at the same time, lie in different banks.
  int stride;
  __host__ __device__ explicit Strip(const FewChannels& sizes) : stride((sizes.strip_width() + 1) / 2 * 2) {
    while (stride % 32 < 4 || stride % 32 > 28) stride += 2;
  }
  __host__ __device__ int floats() const { return kChannels * kHeight * stride; }
  __device__ int at(int channel, int row) const { return (channel * kHeight + row) * stride; }

  template <typename T>
  __device__ void load(const FewChannels& sizes, const T* src, int image, int first_row, float* to) const {
    for (int i = threadIdx.x; i < floats(); i += blockDim.x) {
      const int column = i % stride - sizes.pad_left;
      const int row = i / stride % kHeight + 2 * first_row - sizes.pad_top;
      const int channel = i / (stride * kHeight);
      const bool inside = row >= 0 && row < sizes.height && column >= 0 && column < sizes.width;
      to[i] =
          inside
              ? to_float(src[((static_cast<std::int64_t>(image) * kChannels + channel) * sizes.height + row) *
                                 sizes.width +
                             column])
              : 0.0f;
    }
  }
};

// Computes the convolution at two neighbouring columns and kPool rows; `from` points at the first pixel it
// reads.
template <int kKernel, int kChannels, int kPool>
__device__ inline void convolve_pair(const Strip<kKernel, kChannels, kPool>& shape, const float* from,
                                     const float (&w)[kKernel][kKernel][kChannels], float start,
                                     float (&sum)[kPool][2]) {
#pragma unroll
  for (int r = 0; r < kPool; ++r) sum[r][0] = sum[r][1] = start;
#pragma unroll
  for (int c = 0; c < kChannels; ++c)
#pragma unroll
    for (int row = 0; row < kPool + kKernel - 1; ++row) {
      float v[kKernel + 1];
#pragma unroll
      for (int i = 0; i < kKernel + 1; i += 2) {
        const auto two = *reinterpret_cast<const float2*>(from + shape.at(c, row) + i);
        v[i] = two.x;
        v[i + 1] = two.y;
      }
#pragma unroll
      for (int r = 0; r < kPool; ++r) {
        const int ky = row - r;
        if (ky < 0 || ky >= kKernel) continue;
#pragma unroll
        for (int kx = 0; kx < kKernel; ++kx) {
          sum[r][0] = fmaf(v[kx], w[ky][kx][c], sum[r][0]);
          sum[r][1] = fmaf(v[kx + 1], w[ky][kx][c], sum[r][1]);
        }
      }
    }
}

struct Chosen {
  float value;
  int place;
};

// The first of the largest in row-major order, among `rows` x `columns` that lie inside.
template <int kPool>
__device__ inline Chosen largest(const float (&window)[kPool][kPool], int rows, int columns) {
  Chosen best{0, -1};
#pragma unroll
  for (int ky = 0; ky < kPool; ++ky)
#pragma unroll
    for (int kx = 0; kx < kPool; ++kx)
      if (ky < rows && kx < columns && (best.place < 0 || window[ky][kx] > best.value))
        best = {window[ky][kx], ky * kPool + kx};
  return best;
}

template <typename Source, typename T, int kKernel, int kChannels, int kPool>
__global__ void __launch_bounds__(32 * kWarps)
    forward(FewChannels sizes, const Source* src, const T* weight, const float* bias, Activation activation,
            T* dst, std::uint8_t* choice) {
  extern __shared__ float strip[];
  const Strip<kKernel, kChannels, kPool> shape(sizes);
  const Part part(sizes);
  const int image = blockIdx.x, first = blockIdx.y * kRows;
  const int output = blockIdx.z * 32 + threadIdx.x % 32, y = first + part.row;
  shape.load(sizes, src, image, first, strip);
  float w[kKernel][kKernel][kChannels];
#pragma unroll
  for (int i = 0; i < kKernel * kKernel * kChannels; ++i)
    (&w[0][0][0])[i] = to_float(weight[output * kKernel * kKernel * kChannels + i]);
  const float start = bias == nullptr ? 0.0f : bias[output];
  __syncthreads();
  if (y >= sizes.pooled_h) return;

  const std::int64_t row = (static_cast<std::int64_t>(image) * sizes.pooled_h + y) * sizes.pooled_w;
  float window[kPool][kPool];
  for (int pair = part.begin; pair < part.end + kPool - 2; ++pair) {
    float sum[kPool][2];
    convolve_pair(shape, strip + shape.at(0, 2 * part.row) + 2 * pair, w, start, sum);
#pragma unroll
    for (int r = 0; r < kPool; ++r)
#pragma unroll
      for (int i = 0; i < 2; ++i)  // compared as it would be stored: numbers that round alike are ties
        sum[r][i] = to_float(from_float<T>(activate(activation, sum[r][i])));
    const int x = pair - (kPool - 2);  // a window of 3 ends with the first column of the next pair
#pragma unroll
    for (int r = 0; r < kPool; ++r) {
      window[r][kPool - 1] = sum[r][kPool == 2 ? 1 : 0];
      if (kPool == 2) window[r][0] = sum[r][0];
    }
    if (x >= part.begin) {
      const Chosen best = largest(window, sizes.convolved_h - 2 * y, sizes.convolved_w - 2 * x);
      dst[(row + x) * sizes.outputs + output] = from_float<T>(best.value);
      choice[(row + x) * sizes.outputs + output] = static_cast<std::uint8_t>(best.place);
    }
    if (kPool == 3)
#pragma unroll
      for (int r = 0; r < kPool; ++r) window[r][0] = sum[r][0], window[r][1] = sum[r][1];
  }
}

// The gradients of one block: one for every weight of its 32 outputs, then that of the bias.
template <int kKernel, int kChannels>
constexpr int kEntries = kKernel* kKernel* kChannels + 1;

// The warps add one after the other, so that the sum does not depend on their timing.
template <int kWeights>
__device__ __forceinline__ void add_warps(const float (&sums)[kWeights], float bias, float* total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
  for (int turn = 0; turn < kWarps; ++turn) {
    if (warp == turn) {
#pragma unroll
      for (int e = 0; e < kWeights; ++e)
        total[e * 32 + lane] = sums[e] + (turn > 0 ? total[e * 32 + lane] : 0.0f);
      total[kWeights * 32 + lane] = bias + (turn > 0 ? total[kWeights * 32 + lane] : 0.0f);
    }
    __syncthreads();
  }
}

template <typename T, int kKernel, int kChannels, int kPool>
__global__ void __launch_bounds__(32 * kWarps)
    d_weight_of_blocks(FewChannels sizes, int tiles, const T* d_dst, const std::uint8_t* choice, const T* src,
                       const T* dst, float* partials) {
  extern __shared__ float strip[];
  constexpr int kWeights = kKernel * kKernel * kChannels, kAhead = 7;
  const Strip<kKernel, kChannels, kPool> shape(sizes);
  const Part part(sizes);
  const int lane = threadIdx.x % 32, output = blockIdx.y * 32 + lane;
  const int strips = (sizes.pooled_h + kRows - 1) / kRows;
  float sums[kWeights] = {}, bias = 0, gradient[kAhead];
  int place[kAhead];
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int image = tile / strips, first = tile % strips * kRows, y = first + part.row;
    const bool inside = y < sizes.pooled_h;
    const std::int64_t row =
        (static_cast<std::int64_t>(image) * sizes.pooled_h + y) * sizes.pooled_w * sizes.outputs + output;
    const auto look_ahead = [&](int x) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const bool there = inside && x + i < part.end;
        const std::int64_t at = there ? row + static_cast<std::int64_t>(x + i) * sizes.outputs : output;
        const bool passes = there && (dst == nullptr || to_float(dst[at]) > 0);
        gradient[i] = passes ? to_float(d_dst[at]) : 0.0f;
        place[i] = choice[at];
      }
    };
    look_ahead(part.begin);  // on its way while the strip is loaded
    __syncthreads();
    shape.load(sizes, src, image, first, strip);
    __syncthreads();
    for (int x = part.begin; inside && x < part.end; x += kAhead) {
      if (x > part.begin) look_ahead(x);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (x + i >= part.end) break;
        const int down = 2 * part.row + place[i] / kPool, right = 2 * (x + i) + place[i] % kPool;
        bias += gradient[i];
#pragma unroll
        for (int c = 0; c < kChannels; ++c)
#pragma unroll
          for (int ky = 0; ky < kKernel; ++ky) {
            const float* from = strip + shape.at(c, down + ky) + right;
#pragma unroll
            for (int kx = 0; kx < kKernel; ++kx) {
              float& sum = sums[(ky * kKernel + kx) * kChannels + c];
              sum = fmaf(gradient[i], from[kx], sum);
            }
          }
      }
    }
  }
  add_warps(sums, bias, strip);
  for (int i = threadIdx.x; i < (kWeights + 1) * 32; i += blockDim.x)
    partials[(static_cast<std::int64_t>(blockIdx.x) * (kWeights + 1) + i / 32) * sizes.outputs +
             blockIdx.y * 32 + i % 32] = strip[i];
}

constexpr int kSlices = 32;  // of the blocks, each summed by one warp

template <typename T>
__global__ void __launch_bounds__(32 * kSlices)
    add_blocks(int blocks, int entries, int outputs, const float* partials, T* d_weight, float* d_bias) {
  __shared__ float shared[kSlices][32];
  const int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
  const int entry = blockIdx.x, output = blockIdx.y * 32 + lane;
  float sum = 0;
#pragma unroll 8
  for (int b = slice; b < blocks; b += kSlices)
    sum += partials[(static_cast<std::int64_t>(b) * entries + entry) * outputs + output];
  shared[slice][lane] = sum;
  __syncthreads();
  if (slice > 0) return;
  for (int s = 1; s < kSlices; ++s) sum += shared[s][lane];
  if (entry < entries - 1)
    d_weight[static_cast<std::int64_t>(output) * (entries - 1) + entry] = from_float<T>(sum);
  else if (d_bias != nullptr)
    d_bias[output] = sum;
}

// Calls body.operator()<kernel, channels, pool>() for the sizes there are; false: for none.
template <typename Body>
bool with_sizes(int channels, int kernel, int pool, const Body& body) {
  const auto is = [&](int c, int k, int p) { return channels == c && kernel == k && pool == p; };
  if (is(1, 5, 2)) return body.template operator()<5, 1, 2>(), true;
  if (is(1, 5, 3)) return body.template operator()<5, 1, 3>(), true;
  if (is(3, 5, 2)) return body.template operator()<5, 3, 2>(), true;
  if (is(3, 5, 3)) return body.template operator()<5, 3, 3>(), true;
  if (is(1, 3, 2)) return body.template operator()<3, 1, 2>(), true;
  if (is(3, 3, 2)) return body.template operator()<3, 3, 2>(), true;
  return false;
}

int tiles_of(const FewChannels& sizes) { return sizes.batch * ((sizes.pooled_h + kRows - 1) / kRows); }

}  // namespace

bool FewChannels::has(int channels, int kernel, int pool) {
  bool found = false;
  with_sizes(channels, kernel, pool, [&found]<int, int, int>() { found = true; });
  return found;
}

template <typename Source, typename T>
void conv2d_max_pool_few_channels(cudaStream_t stream, const FewChannels& sizes, const Source* src,
                                  const T* weight, const float* bias, Activation activation, T* dst,
                                  std::uint8_t* choice) {
  const dim3 grid(sizes.batch, (sizes.pooled_h + kRows - 1) / kRows, sizes.outputs / 32);
  with_sizes(sizes.channels, sizes.kernel, sizes.pool, [&]<int kKernel, int kChannels, int kPool>() {
    const std::size_t bytes = Strip<kKernel, kChannels, kPool>(sizes).floats() * sizeof(float);
    forward<Source, T, kKernel, kChannels, kPool>
        <<<grid, 32 * kWarps, bytes, stream>>>(sizes, src, weight, bias, activation, dst, choice);
  });
  check_launch("conv2d_max_pool_few_channels");
}

int few_channels_d_weight_blocks(const FewChannels& sizes, int multiprocessors) {
  return std::min(tiles_of(sizes), (sizes.channels == 1 ? 3 : 2) * multiprocessors);
}

std::size_t conv2d_max_pool_d_weight_workspace(const FewChannels& sizes, int multiprocessors) {
  const std::size_t entries = sizes.kernel * sizes.kernel * sizes.channels + 1;
  return sizeof(float) * entries * sizes.outputs * few_channels_d_weight_blocks(sizes, multiprocessors);
}

template <typename T>
void conv2d_max_pool_d_weight_few_channels(cudaStream_t stream, const FewChannels& sizes, int multiprocessors,
                                           const T* d_dst, const std::uint8_t* choice, const T* src,
                                           const T* dst, float* workspace, T* d_weight, float* d_bias) {
  const int blocks = few_channels_d_weight_blocks(sizes, multiprocessors);
  with_sizes(sizes.channels, sizes.kernel, sizes.pool, [&]<int kKernel, int kChannels, int kPool>() {
    constexpr int kCount = kEntries<kKernel, kChannels>;
    const int floats = std::max(Strip<kKernel, kChannels, kPool>(sizes).floats(), kCount * 32);
    d_weight_of_blocks<T, kKernel, kChannels, kPool>
        <<<dim3(blocks, sizes.outputs / 32), 32 * kWarps, floats * sizeof(float), stream>>>(
            sizes, tiles_of(sizes), d_dst, choice, src, dst, workspace);
    check_launch("conv2d_max_pool_d_weight_few_channels");
  });
  add_first_layer_blocks(stream, sizes, blocks, workspace, d_weight, d_bias);
}

template <typename T>
void add_first_layer_blocks(cudaStream_t stream, const FewChannels& sizes, int blocks, const float* workspace,
                            T* d_weight, float* d_bias) {
  const int entries = sizes.kernel * sizes.kernel * sizes.channels + 1;
  add_blocks<<<dim3(entries, sizes.outputs / 32), 32 * kSlices, 0, stream>>>(blocks, entries, sizes.outputs,
                                                                             workspace, d_weight, d_bias);
  check_launch("add_first_layer_blocks");
}

#define TRAINYARD_INSTANTIATE_FORWARD(Source, T)                                                        \
  template void conv2d_max_pool_few_channels(cudaStream_t, const FewChannels&, const Source*, const T*, \
                                             const float*, Activation, T*, std::uint8_t*)
#define TRAINYARD_INSTANTIATE_D_WEIGHT(T)                                                                  \
  template void conv2d_max_pool_d_weight_few_channels(cudaStream_t, const FewChannels&, int, const T*,     \
                                                      const std::uint8_t*, const T*, const T*, float*, T*, \
                                                      float*);                                             \
  template void add_first_layer_blocks(cudaStream_t, const FewChannels&, int, const float*, T*, float*)
TRAINYARD_INSTANTIATE_FORWARD(float, float);
TRAINYARD_INSTANTIATE_FORWARD(float, bf16);
TRAINYARD_INSTANTIATE_FORWARD(bf16, bf16);
TRAINYARD_INSTANTIATE_D_WEIGHT(float);
TRAINYARD_INSTANTIATE_D_WEIGHT(bf16);
#undef TRAINYARD_INSTANTIATE_FORWARD
#undef TRAINYARD_INSTANTIATE_D_WEIGHT

}  // namespace trainyard::backend::cuda::device
