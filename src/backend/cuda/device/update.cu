#include "backend/cuda/device/update.h"

#include <cmath>

#include "backend/cuda/device/chunks.cuh"

namespace trainyard::backend::cuda::device {
namespace {

using ops::Rule;

struct Rates {
  float rate, momentum, decay, beta1, beta2, epsilon, weight_decay, shrink, correction1, correction2, ema;
  float rest, rest1, rest2;  // 1 - decay, 1 - beta1, 1 - beta2
};

// Logarithms of the betas. 1 - beta^t is -expm1(t log beta), which f32 does well where the power itself,
// close to one, would lose most digits.
struct Logs {
  float beta1, beta2;
};

__device__ void rates_at(const ops::UpdateAttrs& attrs, Logs logs, std::int64_t step, Rates& r) {
  if (threadIdx.x == 0) {
    const double rate = attrs.schedule.at(step);
    r.rate = static_cast<float>(rate);
    r.shrink = static_cast<float>(attrs.decoupled_decay ? rate * attrs.weight_decay : 0);
    r.ema = static_cast<float>(attrs.ema_decay_at(step));
    r.momentum = static_cast<float>(attrs.momentum);
    r.decay = static_cast<float>(attrs.decay);
    r.beta1 = static_cast<float>(attrs.beta1);
    r.beta2 = static_cast<float>(attrs.beta2);
    r.epsilon = static_cast<float>(attrs.epsilon);
    r.weight_decay = static_cast<float>(attrs.decoupled_decay ? 0 : attrs.weight_decay);
    r.rest = static_cast<float>(1 - attrs.decay);
    r.rest1 = static_cast<float>(1 - attrs.beta1);
    r.rest2 = static_cast<float>(1 - attrs.beta2);
  }
  if (attrs.rule == Rule::adam && threadIdx.x == 32) {
    const auto t = static_cast<float>(step + 1);
    r.correction1 = -1 / expm1f(t * logs.beta1);
    r.correction2 = -1 / expm1f(t * logs.beta2);
  }
}

constexpr int slots_of(Rule rule) { return rule == Rule::sgd ? 0 : rule == Rule::momentum ? 1 : 2; }

// What the rule takes off a parameter with gradient g; moves its state.
template <Rule rule>
__device__ inline float change(const Rates& r, bool nesterov, float g, float& slot0, float& slot1) {
  if constexpr (rule == Rule::momentum) {
    slot0 = r.momentum * slot0 + g;
    return r.rate * (nesterov ? g + r.momentum * slot0 : slot0);
  } else if constexpr (rule == Rule::rmsprop) {
    slot0 = r.decay * slot0 + r.rest * g * g;
    slot1 = r.momentum * slot1 + r.rate * g / sqrtf(slot0 + r.epsilon);
    return slot1;
  } else if constexpr (rule == Rule::adam) {
    slot0 = r.beta1 * slot0 + r.rest1 * g;
    slot1 = r.beta2 * slot1 + r.rest2 * g * g;
    return r.rate * (slot0 * r.correction1) / (sqrtf(slot1 * r.correction2) + r.epsilon);
  } else {
    return r.rate * g;
  }
}

struct Quad {
  float parameter[4], gradient[4], slots[3][4];
};

template <int kSlots>
__device__ inline void load(const UpdateTensor& tensor, std::int64_t at, Quad& quad) {
  load_quad(tensor.parameter, at, tensor.elements, quad.parameter);
  if (tensor.gradient_is_bf16)
    load_quad(static_cast<const bf16*>(tensor.gradient), at, tensor.elements, quad.gradient);
  else
    load_quad(static_cast<const float*>(tensor.gradient), at, tensor.elements, quad.gradient);
#pragma unroll
  for (int s = 0; s < kSlots; ++s) load_quad(tensor.slots[s], at, tensor.elements, quad.slots[s]);
}

template <int kSlots>
__device__ inline void store(const UpdateTensor& tensor, std::int64_t at, const Quad& quad) {
  store_quad(tensor.parameter, at, tensor.elements, quad.parameter);
  if (tensor.rounded != nullptr)
    store_quad(static_cast<bf16*>(tensor.rounded), at, tensor.elements, quad.parameter);
#pragma unroll
  for (int s = 0; s < kSlots; ++s) store_quad(tensor.slots[s], at, tensor.elements, quad.slots[s]);
}

template <Rule rule, bool kShadow>
__device__ inline void advance(const Rates& r, bool nesterov, Quad& quad) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float& p = quad.parameter[i];
    const float g = quad.gradient[i] + r.weight_decay * p;
    p = p - r.shrink * p - change<rule>(r, nesterov, g, quad.slots[0][i], quad.slots[1][i]);
    if constexpr (kShadow) {
      float& shadow = quad.slots[slots_of(rule)][i];
      shadow = r.ema * shadow + (1 - r.ema) * p;
    }
  }
}

template <Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads)
    update_chunks(ops::UpdateAttrs attrs, Logs logs, const StepContext* context,
                  Chunks<UpdateTensor> chunks) {
  constexpr int kSlots = slots_of(rule) + (kShadow ? 1 : 0);
  __shared__ Rates rates;
  bool rates_known = false;
  for_each_chunk(chunks, [&](const UpdateTensor& tensor, std::int64_t first) {
    Quad quads[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) load<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
    if (!rates_known) {  // while the first loads are under way
      rates_at(attrs, logs, context->step, rates);
      __syncthreads();
      rates_known = true;
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      advance<rule, kShadow>(rates, attrs.nesterov, quads[q]);
      store<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
    }
  });
}

template <Rule rule>
void start(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
           const Chunks<UpdateTensor>& chunks) {
  // A few chunks a block: each block computes the rates anew.
  // A block for every chunk: blocks that end soon leave room for what runs beside and is more urgent.
  const auto blocks = chunks.count;
  const Logs logs{static_cast<float>(std::log(attrs.beta1)), static_cast<float>(std::log(attrs.beta2))};
  if (attrs.ema_decay > 0)
    update_chunks<rule, true><<<blocks, kThreads, 0, stream>>>(attrs, logs, context, chunks);
  else
    update_chunks<rule, false><<<blocks, kThreads, 0, stream>>>(attrs, logs, context, chunks);
}

}  // namespace

void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
            const Chunks<UpdateTensor>& chunks) {
  if (chunks.count == 0) return;
  switch (attrs.rule) {
    case Rule::sgd:
      start<Rule::sgd>(stream, attrs, context, chunks);
      break;
    case Rule::momentum:
      start<Rule::momentum>(stream, attrs, context, chunks);
      break;
    case Rule::rmsprop:
      start<Rule::rmsprop>(stream, attrs, context, chunks);
      break;
    case Rule::adam:
      start<Rule::adam>(stream, attrs, context, chunks);
      break;
  }
  check_launch("update");
}

}  // namespace trainyard::backend::cuda::device
