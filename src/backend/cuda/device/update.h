#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/device/chunks.h"
#include "backend/device.h"
#include "ops/update_attrs.h"

namespace trainyard::backend::cuda::device {

struct UpdateTensor {
  float* parameter;
  const void* gradient;  // f32, or bf16
  float* slots[3];       // those the rule has, the shadow weights behind them
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool gradient_is_bf16;
  void* rounded = nullptr;  // bf16 copy of the parameter; null: there is none
};

// ops::update_op, all tensors in one launch. `context` lies in device memory; `scheduled` is room there for
// the rate of a schedule that changes, or null when the schedule is constant. most_blocks: 0, or how many
// it may start.
void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context, float* scheduled,
            const Chunks<UpdateTensor>& chunks, int most_blocks);

}  // namespace trainyard::backend::cuda::device
