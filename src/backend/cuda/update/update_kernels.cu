#include "backend/cuda/update/update_kernels.h"

#include "backend/cuda/update/update_rule.cuh"

namespace trainyard::backend::cuda::device {
namespace {

__global__ void schedule_rate(ops::Schedule schedule, const StepContext* context, float* rate) {
  *rate = static_cast<float>(schedule.at(context->step));
}

template <typename Tensor>
__device__ inline void load_gradient(const Tensor& tensor, std::int64_t at, float (&gradient)[4]) {
  if (tensor.gradient_is_bf16)
    load_quad(static_cast<const bf16*>(tensor.gradient), at, tensor.elements, gradient);
  else
    load_quad(static_cast<const float*>(tensor.gradient), at, tensor.elements, gradient);
}

// Leaves the sum of the squares of each chunk's gradients.
__global__ void __launch_bounds__(kThreads)
    sum_squares(const __grid_constant__ Chunks<UpdateTensor> chunks, float* sums) {
  __shared__ float scratch[32];
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
    const UpdateTensor tensor = tensor_at(chunks, chunk);
    const std::int64_t first =
        static_cast<std::int64_t>(chunk - tensor.first_chunk) * kChunkElements + threadIdx.x * 4;
    float gradient[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) load_gradient(tensor, first + q * kThreads * 4, gradient[q]);
    float sum = 0;
#pragma unroll
    for (int q = 0; q < kQuads; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += gradient[q][i] * gradient[q][i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) sums[chunk] = sum;
    __syncthreads();  // the scratch of the next chunk is this one's
  }
}

constexpr int kFactorThreads = 1024;

// One block adds the sums up, in an order that depends on their number alone. Not a number stays one, so that
// it does not go unseen.
__global__ void __launch_bounds__(kFactorThreads)
    clip_factor_of(const float* sums, std::uint32_t count, float clip_norm, float* factor) {
  __shared__ double of_thread[kFactorThreads];
  double sum = 0;
  for (std::uint32_t i = threadIdx.x; i < count; i += kFactorThreads) sum += static_cast<double>(sums[i]);
  of_thread[threadIdx.x] = sum;
  for (unsigned half = kFactorThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  const auto norm = static_cast<float>(sqrt(of_thread[0]));
  *factor = norm <= clip_norm ? 1.0f : clip_norm / norm;
}

// Without a limit a block for every chunk: blocks that end soon leave room for what is more urgent.
int blocks_for(const Chunks<UpdateTensor>& chunks, int most_blocks) {
  const int chunk_blocks = static_cast<int>(chunks.count);
  return most_blocks > 0 ? std::min(most_blocks, chunk_blocks) : chunk_blocks;
}

template <Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads, 4)
    update_chunks(RuleConstants constants, const StepContext* context, const float* scheduled,
                  const float* clip_factor, const __grid_constant__ Chunks<UpdateTensor> chunks) {
  constexpr int kSlots = kRuleSlots<rule, kShadow>;
  __shared__ RuleRates shared;
  RuleRates rates;
  bool known = false;
  for_each_chunk(chunks, [&](const UpdateTensor& tensor, std::int64_t first) {
    ParameterQuad quads[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      load_state<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
      load_gradient(tensor, first + q * kThreads * 4, quads[q].gradient);
    }
    if (!known) {  // made while the first quads are on their way
      if (threadIdx.x == 0) {
        shared = rates_at<rule, kShadow>(constants, scheduled, context->step);
        if (clip_factor != nullptr) shared.gradient_factor = *clip_factor;
      }
      __syncthreads();
      rates = shared;
      known = true;
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      advance<rule, kShadow>(constants, rates, tensor.decays, quads[q]);
      store_state<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
    }
  });
}

__global__ void __launch_bounds__(kThreads)
    accumulate_chunks(int micro_batches, const StepContext* context,
                      const __grid_constant__ Chunks<AccumulateTensor> chunks) {
  const bool is_first = context->step % micro_batches == 0;
  const float share = 1.0f / static_cast<float>(micro_batches);
  for_each_chunk(chunks, [&](const AccumulateTensor& tensor, std::int64_t first) {
    float gradient[kQuads][4], sum[kQuads][4] = {};
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      load_gradient(tensor, first + q * kThreads * 4, gradient[q]);
      if (!is_first) load_quad(tensor.sum, first + q * kThreads * 4, tensor.elements, sum[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[q][i] += share * gradient[q][i];
      store_quad(tensor.sum, first + q * kThreads * 4, tensor.elements, sum[q]);
    }
  });
}

}  // namespace

void make_scheduled_rate(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                         float* scheduled) {
  if (scheduled == nullptr) return;
  schedule_rate<<<1, 1, 0, stream>>>(attrs.schedule, context, scheduled);
  check_launch("schedule_rate");
}

void make_clip_factor(cudaStream_t stream, const ops::UpdateAttrs& attrs, const Chunks<UpdateTensor>& chunks,
                      float* sums, float* factor, int most_blocks) {
  if (factor == nullptr || chunks.count == 0) return;
  sum_squares<<<blocks_for(chunks, most_blocks), kThreads, 0, stream>>>(chunks, sums);
  check_launch("sum_squares");
  clip_factor_of<<<1, kFactorThreads, 0, stream>>>(sums, chunks.count, static_cast<float>(attrs.clip_norm),
                                                   factor);
  check_launch("clip_factor_of");
}

void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
            const float* scheduled, const float* clip_factor, const Chunks<UpdateTensor>& chunks,
            int most_blocks) {
  if (chunks.count == 0) return;
  with_rule(attrs, [&]<Rule rule, bool kShadow>() {
    update_chunks<rule, kShadow><<<blocks_for(chunks, most_blocks), kThreads, 0, stream>>>(
        constants_of(attrs), context, scheduled, clip_factor, chunks);
  });
  check_launch("update");
}

void accumulate(cudaStream_t stream, int micro_batches, const StepContext* context,
                const Chunks<AccumulateTensor>& chunks) {
  if (chunks.count == 0) return;
  accumulate_chunks<<<static_cast<int>(chunks.count), kThreads, 0, stream>>>(micro_batches, context, chunks);
  check_launch("accumulate");
}

}  // namespace trainyard::backend::cuda::device
