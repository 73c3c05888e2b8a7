#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/runtime/chunks.h"
#include "backend/step_context.h"
#include "ops/device_attrs.h"

namespace trainyard::backend::cuda::device {

struct UpdateTensor {
  float* parameter;
  const void* gradient;  // f32, or bf16
  float* slots[3];       // those the rule has, the shadow weights behind them
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool gradient_is_bf16;
  bool decays = true;       // the weight decay counts
  void* rounded = nullptr;  // bf16 copy of the parameter; null: there is none
};

// Notes the rate of this step's schedule, for the updates behind it. `context` lies in device memory, and so
// does `scheduled`: room for the rate, or null when the schedule is constant.
void make_scheduled_rate(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                         float* scheduled);

// Notes the factor that clips all gradients to attrs.clip_norm, for the update behind it. `sums`: room for a
// number a chunk. Both lie in device memory; nothing is done where `factor` is null.
void make_clip_factor(cudaStream_t stream, const ops::UpdateAttrs& attrs, const Chunks<UpdateTensor>& chunks,
                      float* sums, float* factor, int most_blocks);

// ops::update_op, all tensors in one launch. `clip_factor`: null where nothing is clipped. most_blocks: 0, or
// how many it may start.
void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
            const float* scheduled, const float* clip_factor, const Chunks<UpdateTensor>& chunks,
            int most_blocks);

struct AccumulateTensor {
  const void* gradient;  // f32, or bf16
  float* sum;
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool gradient_is_bf16;
};

// ops::accumulate_op, all tensors in one launch. `context` lies in device memory.
void accumulate(cudaStream_t stream, int micro_batches, const StepContext* context,
                const Chunks<AccumulateTensor>& chunks);

}  // namespace trainyard::backend::cuda::device
