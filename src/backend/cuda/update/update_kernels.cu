#include "backend/cuda/update/update_kernels.h"

#include "backend/cuda/update/update_rule.cuh"

namespace trainyard::backend::cuda::device {
namespace {

__global__ void schedule_rate(ops::Schedule schedule, const StepContext* context, float* rate) {
  *rate = static_cast<float>(schedule.at(context->step));
}

__device__ inline void load_gradient(const UpdateTensor& tensor, std::int64_t at, ParameterQuad& quad) {
  if (tensor.gradient_is_bf16)
    load_quad(static_cast<const bf16*>(tensor.gradient), at, tensor.elements, quad.gradient);
  else
    load_quad(static_cast<const float*>(tensor.gradient), at, tensor.elements, quad.gradient);
}

template <Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads, 4)
    update_chunks(RuleConstants constants, const StepContext* context, const float* scheduled,
                  const __grid_constant__ Chunks<UpdateTensor> chunks) {
  constexpr int kSlots = kRuleSlots<rule, kShadow>;
  __shared__ RuleRates shared;
  RuleRates rates;
  bool known = false;
  for_each_chunk(chunks, [&](const UpdateTensor& tensor, std::int64_t first) {
    ParameterQuad quads[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      load_state<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
      load_gradient(tensor, first + q * kThreads * 4, quads[q]);
    }
    if (!known) {  // made while the first quads are on their way
      if (threadIdx.x == 0) shared = rates_at<rule, kShadow>(constants, scheduled, context->step);
      __syncthreads();
      rates = shared;
      known = true;
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      advance<rule, kShadow>(constants, rates, quads[q]);
      store_state<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
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

void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
            const float* scheduled, const Chunks<UpdateTensor>& chunks, int most_blocks) {
  if (chunks.count == 0) return;
  // Without a limit a block for every chunk: blocks that end soon leave room for what is more urgent.
  const int chunk_blocks = static_cast<int>(chunks.count);
  const int blocks = most_blocks > 0 ? std::min(most_blocks, chunk_blocks) : chunk_blocks;
  with_rule(attrs, [&]<Rule rule, bool kShadow>() {
    update_chunks<rule, kShadow>
        <<<blocks, kThreads, 0, stream>>>(constants_of(attrs), context, scheduled, chunks);
  });
  check_launch("update");
}

}  // namespace trainyard::backend::cuda::device
