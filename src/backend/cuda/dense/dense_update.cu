#include "backend/cuda/dense/dense_kernels.h"

#include "backend/cuda/runtime/tensor_cores.cuh"
#include "backend/cuda/update/update_rule.cuh"

// With few samples a gradient is quickly made, and to store it and read it again is what takes time. So a
// block makes that of a tile of weights in registers, while the tile and its state are on their way.
namespace trainyard::backend::cuda::device {
namespace {

constexpr int kTile = 64;        // outputs, and inputs, of a block
constexpr int kRow = kTile + 8;  // of shared memory: samples lie on different banks
constexpr int kWarpRows = 16, kWarpColumns = 32;
static_assert(kThreads / 32 == (kTile / kWarpRows) * (kTile / kWarpColumns));

template <typename T>
struct Tiles {
  T d_dst[DenseUpdate::kMostSamples * kRow], src[DenseUpdate::kMostSamples * kRow];
};

// Samples of one product of the matrix units.
template <typename T>
constexpr int kSamplesAtOnce = 32 / static_cast<int>(sizeof(T));

// A tile of (samples, columns) from column `first` on; zeros behind the last sample and column.
template <typename T>
__device__ inline void copy_tile(T* to, const T* from, int samples, int columns, int first) {
  constexpr int kPart = 16 / static_cast<int>(sizeof(T)), kParts = kTile / kPart;
  const int rows = (samples + kSamplesAtOnce<T> - 1) / kSamplesAtOnce<T> * kSamplesAtOnce<T>;
  for (int i = static_cast<int>(threadIdx.x); i < rows * kParts; i += kThreads) {
    const int row = i / kParts, column = i % kParts * kPart;
    const bool there = row < samples && first + column < columns;
    copy_async_16(shared_address(to + row * kRow + column),
                  there ? from + static_cast<std::int64_t>(row) * columns + first + column : from, there);
  }
}

// Loads 16 outputs of an operand that lies sample by sample.
template <typename T>
__device__ inline void load_outputs(std::uint32_t (&a)[4], const T* tile, int lane) {
  if constexpr (sizeof(T) == 2) {
    load_matrices_transposed(a, shared_address(tile + (lane / 16 * 8 + lane % 8) * kRow + lane / 8 % 2 * 8));
  } else {
    const T* at = tile + lane % 4 * kRow + lane / 4;
    a[0] = to_tf32(at[0]);
    a[1] = to_tf32(at[8]);
    a[2] = to_tf32(at[4 * kRow]);
    a[3] = to_tf32(at[4 * kRow + 8]);
  }
}

// Loads 16 inputs: two words for the first eight, two for the others.
template <typename T>
__device__ inline void load_inputs(std::uint32_t (&b)[4], const T* tile, int lane) {
  if constexpr (sizeof(T) == 2) {
    load_matrices_transposed(b, shared_address(tile + lane % 16 * kRow + lane / 16 * 8));
  } else {
    const T* at = tile + lane % 4 * kRow + lane / 4;
    b[0] = to_tf32(at[0]);
    b[1] = to_tf32(at[4 * kRow]);
    b[2] = to_tf32(at[8]);
    b[3] = to_tf32(at[4 * kRow + 8]);
  }
}

// Two neighbouring lanes have two columns each of both matrices: the even one takes all four of the first,
// the odd one those of the second.
__device__ inline void gather_quad(float (&quad)[4], const float* first, const float* second, bool odd) {
  const float got0 = __shfl_xor_sync(~0u, odd ? first[0] : second[0], 1);
  const float got1 = __shfl_xor_sync(~0u, odd ? first[1] : second[1], 1);
  quad[0] = odd ? got0 : first[0];
  quad[1] = odd ? got1 : first[1];
  quad[2] = odd ? second[0] : got0;
  quad[3] = odd ? second[1] : got1;
}

// Updates the biases of the outputs of a tile, four a thread.
template <typename T, Rule rule, bool kShadow>
__device__ inline void update_biases(const RuleConstants& constants, const RuleRates& rates,
                                     const DenseUpdate& layer, const T* d_dst, int first_row) {
  constexpr int kSlots = kRuleSlots<rule, kShadow>;
  const int column = static_cast<int>(threadIdx.x) * 4;
  if (column >= kTile || first_row + column >= layer.outputs) return;
  ParameterQuad quad;
  load_state<kSlots>(layer.bias, first_row + column, quad);
#pragma unroll
  for (float& gradient : quad.gradient) gradient = 0;
#pragma unroll 2
  for (int sample = 0; sample < layer.samples; ++sample)
#pragma unroll
    for (int i = 0; i < 4; ++i) quad.gradient[i] += to_float(d_dst[sample * kRow + column + i]);
  advance<rule, kShadow>(constants, rates, !constants.matrices_decay_alone, quad);
  store_state<kSlots>(layer.bias, first_row + column, quad);
}

template <typename T, Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads, 2)
    update_tiles(RuleConstants constants, const StepContext* context, const float* scheduled,
                 const __grid_constant__ DenseUpdate layer, const T* d_dst, const T* src) {
  constexpr int kSlots = kRuleSlots<rule, kShadow>;
  __shared__ __align__(16) Tiles<T> tiles;
  __shared__ RuleRates shared_rates;
  if (threadIdx.x == 0) shared_rates = rates_at<rule, kShadow>(constants, scheduled, context->step);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % (kTile / kWarpRows) * kWarpRows;
  const int warp_column = warp / (kTile / kWarpRows) * kWarpColumns;
  const bool odd = lane % 2 == 1;
  const int across = (layer.inputs + kTile - 1) / kTile, down = (layer.outputs + kTile - 1) / kTile;

  for (int tile = static_cast<int>(blockIdx.x); tile < across * down; tile += static_cast<int>(gridDim.x)) {
    const int first_row = tile / across * kTile, first_column = tile % across * kTile;
    copy_tile(tiles.d_dst, d_dst, layer.samples, layer.outputs, first_row);
    copy_tile(tiles.src, src, layer.samples, layer.inputs, first_column);
    commit_copies();

    // A thread's quads: two rows that are eight apart, two columns that are sixteen apart.
    ParameterQuad quads[2][2];
    const int row0 = first_row + warp_row + lane / 4;
    const int column0 = first_column + warp_column + lane % 2 * 8 + lane % 4 / 2 * 4;
    const auto is_there = [&](int h, int q) {
      return row0 + 8 * h < layer.outputs && column0 + 16 * q < layer.inputs;
    };
    const auto place = [&](int h, int q) {
      return static_cast<std::int64_t>(row0 + 8 * h) * layer.inputs + column0 + 16 * q;
    };
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int q = 0; q < 2; ++q)
        if (is_there(h, q)) load_state<kSlots>(layer.weight, place(h, q), quads[h][q]);
    wait_copies<0>();
    __syncthreads();

    float sums[4][4] = {};
    for (int sample = 0; sample < layer.samples; sample += kSamplesAtOnce<T>) {
      std::uint32_t a[4], b[4];
      load_outputs(a, tiles.d_dst + sample * kRow + warp_row, lane);
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        load_inputs(b, tiles.src + sample * kRow + warp_column + 16 * q, lane);
        multiply_add_words<T>(sums[2 * q], a, b[0], b[1]);
        multiply_add_words<T>(sums[2 * q + 1], a, b[2], b[3]);
      }
    }
    const RuleRates rates = shared_rates;
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        gather_quad(quads[h][q].gradient, sums[2 * q] + 2 * h, sums[2 * q + 1] + 2 * h, odd);
        if (!is_there(h, q)) continue;
        advance<rule, kShadow>(constants, rates, true, quads[h][q]);
        store_state<kSlots>(layer.weight, place(h, q), quads[h][q]);
      }

    if (first_column == 0) update_biases<T, rule, kShadow>(constants, rates, layer, tiles.d_dst, first_row);
    __syncthreads();  // the next tile takes this one's place
  }
}

// A thread updates four weights, then four biases.
template <typename T, Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads)
    update_plainly(RuleConstants constants, const StepContext* context, const float* scheduled,
                   const __grid_constant__ DenseUpdate layer, const T* d_dst, const T* src) {
  constexpr int kSlots = kRuleSlots<rule, kShadow>;
  const RuleRates rates = rates_at<rule, kShadow>(constants, scheduled, context->step);
  const std::int64_t weight_quads = (layer.weight.elements + 3) / 4;
  std::int64_t quad_index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const bool is_weight = quad_index < weight_quads;
  if (!is_weight) quad_index -= weight_quads;
  const UpdateTensor& tensor = is_weight ? layer.weight : layer.bias;
  if (quad_index * 4 >= tensor.elements) return;
  ParameterQuad quad;
  load_state<kSlots>(tensor, quad_index * 4, quad);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t e = min(quad_index * 4 + i, tensor.elements - 1);
    const std::int64_t output = is_weight ? e / layer.inputs : e, input = is_weight ? e % layer.inputs : 0;
    quad.gradient[i] = 0;
    for (std::int64_t n = 0; n < layer.samples; ++n)
      quad.gradient[i] += to_float(d_dst[n * layer.outputs + output]) *
                          (is_weight ? to_float(src[n * layer.inputs + input]) : 1.0f);
  }
  advance<rule, kShadow>(constants, rates, is_weight || !constants.matrices_decay_alone, quad);
  store_state<kSlots>(tensor, quad_index * 4, quad);
}

}  // namespace

template <typename T>
void dense_update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                  const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src,
                  int most_blocks) {
  const int tiles = (layer.inputs + kTile - 1) / kTile * ((layer.outputs + kTile - 1) / kTile);
  const int blocks = most_blocks > 0 ? std::min(most_blocks, tiles) : tiles;
  with_rule(attrs, [&]<Rule rule, bool kShadow>() {
    update_tiles<T, rule, kShadow>
        <<<blocks, kThreads, 0, stream>>>(constants_of(attrs), context, scheduled, layer, d_dst, src);
  });
  check_launch("dense_update");
}

template <typename T>
void dense_update_plain(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                        const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src) {
  const std::int64_t quads = (layer.weight.elements + 3) / 4 + (layer.bias.elements + 3) / 4;
  with_rule(attrs, [&]<Rule rule, bool kShadow>() {
    update_plainly<T, rule, kShadow>
        <<<static_cast<unsigned>((quads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            constants_of(attrs), context, scheduled, layer, d_dst, src);
  });
  check_launch("dense_update_plain");
}

template void dense_update(cudaStream_t, const ops::UpdateAttrs&, const StepContext*, const float*,
                           const DenseUpdate&, const float*, const float*, int);
template void dense_update(cudaStream_t, const ops::UpdateAttrs&, const StepContext*, const float*,
                           const DenseUpdate&, const bf16*, const bf16*, int);
template void dense_update_plain(cudaStream_t, const ops::UpdateAttrs&, const StepContext*, const float*,
                                 const DenseUpdate&, const float*, const float*);
template void dense_update_plain(cudaStream_t, const ops::UpdateAttrs&, const StepContext*, const float*,
                                 const DenseUpdate&, const bf16*, const bf16*);

}  // namespace trainyard::backend::cuda::device
