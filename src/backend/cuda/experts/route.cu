#include "backend/cuda/experts/experts_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

constexpr int kWarpsOfBlock = kThreads / 32;
constexpr int kTile = kThreads;  // choices that a block sorts

__device__ inline std::int64_t warp_index() { return static_cast<std::int64_t>(thread_index()) / 32; }

unsigned blocks_for_rows(std::int64_t rows) {
  return static_cast<unsigned>((rows + kWarpsOfBlock - 1) / kWarpsOfBlock);
}

// Returns the expert with the higher score, the first one of equal scores; a number below 0 is none.
struct Best {
  float score = 0;
  int expert = -1;

  __device__ void take(const Best& other) {
    if (other.expert < 0) return;
    if (expert < 0 || other.score > score || (other.score == score && other.expert < expert)) *this = other;
  }
};

// A warp for each row. Where no score is left that is a number, gates are none either.
__global__ void __launch_bounds__(kThreads)
    choose_experts(RouteSizes sizes, const float* __restrict__ scores, float* gates, std::int32_t* chosen) {
  const std::int64_t row = warp_index();
  if (row >= sizes.rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* of_row = scores + row * sizes.experts;
  gates += row * sizes.choices;
  chosen += row * sizes.choices;
  Best last;
  float top = 0, sum = 0;
  for (int j = 0; j < sizes.choices; ++j) {
    Best best;
    for (int e = lane; e < sizes.experts; e += 32) {
      const float score = of_row[e];
      const bool behind = j == 0 || score < last.score || (score == last.score && e > last.expert);
      if (behind && score == score) best.take({score, e});
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      best.take({__shfl_xor_sync(0xFFFFFFFFu, best.score, offset),
                 __shfl_xor_sync(0xFFFFFFFFu, best.expert, offset)});
    if (best.expert < 0) best = {NAN, j};
    if (j == 0) top = best.score;
    const float share = expf(best.score - top);
    sum += share;
    if (lane == 0) {
      chosen[j] = best.expert;
      gates[j] = share;
    }
    last = best;
  }
  __syncwarp();  // the shares of lane 0 are there for all
  for (int j = lane; j < sizes.choices; j += 32) gates[j] /= sum;
}

// counts[tile][expert]: the choices of a tile that fell on the expert.
__global__ void __launch_bounds__(kTile)
    count_choices(std::int64_t choices, int experts, const std::int32_t* __restrict__ chosen,
                  std::int32_t* counts) {
  __shared__ std::int32_t of_tile[kMostExperts];
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kTile) of_tile[e] = 0;
  __syncthreads();
  const std::int64_t choice = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  if (choice < choices) atomicAdd(&of_tile[chosen[choice]], 1);  // whole numbers: in any order the same
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kTile)
    counts[static_cast<std::int64_t>(blockIdx.x) * experts + e] = of_tile[e];
}

// One block with a thread for each expert: before[tile][expert] are its choices in the tiles before, and
// offsets the sums over the experts before. Counts stay as they are, so that many are loaded at once.
__global__ void __launch_bounds__(kMostExperts)
    sum_counts(std::int64_t tiles, int experts, const std::int32_t* __restrict__ counts,
               std::int32_t* __restrict__ before, std::int32_t* __restrict__ offsets) {
  __shared__ std::int32_t sums[kMostExperts];
  const int e = static_cast<int>(threadIdx.x);
  std::int32_t sum = 0;
  if (e < experts)
#pragma unroll 8
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      before[tile * experts + e] = sum;
      sum += counts[tile * experts + e];
    }
  sums[e] = sum;
  __syncthreads();
  for (int distance = 1; distance < kMostExperts; distance *= 2) {
    const std::int32_t nearer = e >= distance ? sums[e - distance] : 0;
    __syncthreads();
    sums[e] += nearer;
    __syncthreads();
  }
  if (e == 0) offsets[0] = 0;
  if (e < experts) offsets[e + 1] = sums[e];
}

// A choice stands behind those of the experts before, of the tiles before, and of its tile's threads before.
__global__ void __launch_bounds__(kTile)
    place_choices(std::int64_t choices, int experts, const std::int32_t* __restrict__ chosen,
                  const std::int32_t* __restrict__ before, const std::int32_t* __restrict__ offsets,
                  std::int32_t* place) {
  __shared__ std::int32_t of_tile[kTile];
  const std::int64_t choice = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int32_t expert = choice < choices ? chosen[choice] : -1;
  of_tile[threadIdx.x] = expert;
  __syncthreads();
  if (choice >= choices) return;
  std::int32_t in_tile = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) in_tile += of_tile[i] == expert ? 1 : 0;
  place[choice] =
      offsets[expert] + before[static_cast<std::int64_t>(blockIdx.x) * experts + expert] + in_tile;
}

// A warp for each row; every lane makes the same sum.
__global__ void __launch_bounds__(kThreads)
    spread_gates(RouteSizes sizes, const float* __restrict__ d_gates, const float* __restrict__ gates,
                 const std::int32_t* __restrict__ chosen, float* __restrict__ d_scores) {
  const std::int64_t row = warp_index();
  if (row >= sizes.rows) return;
  const std::int64_t first = row * sizes.choices;
  float sum = 0;
  for (std::int64_t i = first; i < first + sizes.choices; ++i) sum += gates[i] * d_gates[i];
  for (int e = static_cast<int>(threadIdx.x) % 32; e < sizes.experts; e += 32) {
    float made = 0;
    for (std::int64_t i = first; i < first + sizes.choices; ++i)
      if (chosen[i] == e) made = gates[i] * (d_gates[i] - sum);
    d_scores[row * sizes.experts + e] = made;
  }
}

// A row of probabilities, by a warp, and the mean by them of the experts' shares of all choices.
struct Probabilities {
  float highest = -INFINITY, sum = 0, mean_share = 0;

  __device__ static float share(const std::int32_t* offsets, int e, int experts) {
    return static_cast<float>(offsets[e + 1] - offsets[e]) / static_cast<float>(offsets[experts]);
  }
  __device__ Probabilities(const float* scores, const std::int32_t* offsets, int experts) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int e = lane; e < experts; e += 32) highest = fmaxf(highest, scores[e]);
    highest = warp_max(highest);
    for (int e = lane; e < experts; e += 32) {
      const float power = expf(scores[e] - highest);
      sum += power;
      mean_share += power * share(offsets, e, experts);
    }
    sum = warp_sum(sum);
    mean_share = warp_sum(mean_share) / sum;
  }
};

__global__ void __launch_bounds__(kThreads)
    add_mean_shares(std::int64_t rows, int experts, float factor, const float* __restrict__ scores,
                    const std::int32_t* __restrict__ offsets, float* parts) {
  __shared__ float scratch[32];
  float sum = 0;
  for (std::int64_t row = warp_index(); row < rows; row += kBalanceParts * kWarpsOfBlock)
    sum += Probabilities(scores + row * experts, offsets, experts).mean_share;
  // All lanes of a warp have its sum.
  const float of_block = block_sum(threadIdx.x % 32 == 0 ? sum : 0.0f, scratch);
  if (threadIdx.x == 0) parts[blockIdx.x] = factor * of_block;
}

__global__ void __launch_bounds__(kThreads)
    add_balance_parts(int parts_of_all, float coefficient, const float* parts, float* penalty) {
  const float sum = sum_in_order(parts, parts_of_all);
  if (threadIdx.x == 0) *penalty = coefficient * sum;
}

__global__ void __launch_bounds__(kThreads)
    pull_scores(std::int64_t rows, int experts, float factor, const float* d_loss,
                const float* __restrict__ scores, const std::int32_t* __restrict__ offsets,
                float* __restrict__ d_scores) {
  const std::int64_t row = warp_index();
  if (row >= rows) return;
  const float* of_row = scores + row * experts;
  const Probabilities made(of_row, offsets, experts);
  const float of_loss = factor * *d_loss / made.sum;
  for (int e = static_cast<int>(threadIdx.x) % 32; e < experts; e += 32)
    d_scores[row * experts + e] = of_loss * expf(of_row[e] - made.highest) *
                                  (Probabilities::share(offsets, e, experts) - made.mean_share);
}

std::int64_t tiles_of(const RouteSizes& sizes) { return (sizes.rows * sizes.choices + kTile - 1) / kTile; }

float experts_by_rows(std::int64_t rows, std::int64_t experts) {
  return static_cast<float>(experts) / static_cast<float>(rows);
}

}  // namespace

std::int64_t route_counts(const RouteSizes& sizes) { return 2 * tiles_of(sizes) * sizes.experts; }

void route(cudaStream_t stream, const RouteSizes& sizes, const float* scores, const RouteTensors& made,
           std::int32_t* counts) {
  const std::int64_t choices = sizes.rows * sizes.choices, tiles = tiles_of(sizes);
  const auto experts = static_cast<int>(sizes.experts);
  const auto blocks = static_cast<unsigned>(tiles);
  choose_experts<<<blocks_for_rows(sizes.rows), kThreads, 0, stream>>>(sizes, scores, made.gates,
                                                                       made.chosen);
  check_launch("route");
  count_choices<<<blocks, kTile, 0, stream>>>(choices, experts, made.chosen, counts);
  check_launch("route");
  std::int32_t* const before = counts + tiles * sizes.experts;
  sum_counts<<<1, kMostExperts, 0, stream>>>(tiles, experts, counts, before, made.offsets);
  check_launch("route");
  place_choices<<<blocks, kTile, 0, stream>>>(choices, experts, made.chosen, before, made.offsets,
                                              made.place);
  check_launch("route");
}

void route_grad(cudaStream_t stream, const RouteSizes& sizes, const float* d_gates, const float* gates,
                const std::int32_t* chosen, float* d_scores) {
  spread_gates<<<blocks_for_rows(sizes.rows), kThreads, 0, stream>>>(sizes, d_gates, gates, chosen, d_scores);
  check_launch("route_grad");
}

void balance_parts(cudaStream_t stream, std::int64_t rows, std::int64_t experts, const float* scores,
                   const std::int32_t* offsets, float* parts) {
  add_mean_shares<<<kBalanceParts, kThreads, 0, stream>>>(
      rows, static_cast<int>(experts), experts_by_rows(rows, experts), scores, offsets, parts);
  check_launch("balance_penalty");
}

void finish_balance(cudaStream_t stream, int layers, float coefficient, const float* parts, float* penalty) {
  add_balance_parts<<<1, kThreads, 0, stream>>>(layers * kBalanceParts, coefficient, parts, penalty);
  check_launch("balance_penalty");
}

void balance_grad(cudaStream_t stream, std::int64_t rows, std::int64_t experts, float coefficient,
                  const float* d_loss, const float* scores, const std::int32_t* offsets, float* d_scores) {
  pull_scores<<<blocks_for_rows(rows), kThreads, 0, stream>>>(rows, static_cast<int>(experts),
                                                              coefficient * experts_by_rows(rows, experts),
                                                              d_loss, scores, offsets, d_scores);
  check_launch("balance_penalty_grad");
}

}  // namespace trainyard::backend::cuda::device
