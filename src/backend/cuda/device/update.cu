#include "backend/cuda/device/update.h"

#include <cmath>

#include "backend/cuda/device/chunks.cuh"

namespace trainyard::backend::cuda::device {
namespace {

using ops::Rule;

// What is the same for all elements of all steps, prepared by the host in double.
struct Constants {
  float momentum, decay, beta1, beta2, epsilon, coupled_decay, decoupled_decay;
  float rest, rest1, rest2;  // 1 - decay, 1 - beta1, 1 - beta2
  float log_beta1, log_beta2;
  float ema_rest;  // 1 - ema_decay
  float rate;      // of a constant schedule
  bool nesterov;
};

Constants constants_of(const ops::UpdateAttrs& attrs) {
  const auto number = [](double x) { return static_cast<float>(x); };
  return {.momentum = number(attrs.momentum),
          .decay = number(attrs.decay),
          .beta1 = number(attrs.beta1),
          .beta2 = number(attrs.beta2),
          .epsilon = number(attrs.epsilon),
          .coupled_decay = number(attrs.decoupled_decay ? 0 : attrs.weight_decay),
          .decoupled_decay = number(attrs.decoupled_decay ? attrs.weight_decay : 0),
          .rest = number(1 - attrs.decay),
          .rest1 = number(1 - attrs.beta1),
          .rest2 = number(1 - attrs.beta2),
          .log_beta1 = number(std::log(attrs.beta1)),
          .log_beta2 = number(std::log(attrs.beta2)),
          .ema_rest = number(1 - attrs.ema_decay),
          .rate = number(attrs.schedule.at(0)),
          .nesterov = attrs.nesterov};
}

// What changes from step to step; one thread of a block makes it for all. 1 - beta^t is -expm1(t log beta),
// and 1 - ema is 9 / (10 + t) at first: so nothing is lost where these are close to one.
struct Rates {
  float rate, step, correction2, ema_rest;  // step: of adam, with its correction of the first moment
};

template <Rule rule, bool kShadow>
__device__ inline Rates rates_at(const Constants& c, const float* scheduled, std::int64_t step) {
  Rates r{};
  const auto t = static_cast<float>(step);
  r.rate = scheduled != nullptr ? *scheduled : c.rate;
  if constexpr (rule == Rule::adam) {
    r.step = -r.rate / expm1f((t + 1) * c.log_beta1);
    r.correction2 = -1 / expm1f((t + 1) * c.log_beta2);
  }
  if constexpr (kShadow) r.ema_rest = fmaxf(c.ema_rest, 9 / (10 + t));
  return r;
}

__global__ void schedule_rate(ops::Schedule schedule, const StepContext* context, float* rate) {
  *rate = static_cast<float>(schedule.at(context->step));
}

constexpr int slots_of(Rule rule) { return rule == Rule::sgd ? 0 : rule == Rule::momentum ? 1 : 2; }

// Some bits of the last digit against many instructions: with exact roots and quotients the arithmetic would
// take longer than memory does.
__device__ inline float root(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// What the rule takes off a parameter with gradient g; moves its state.
template <Rule rule>
__device__ inline float change(const Constants& c, const Rates& r, float g, float& slot0, float& slot1) {
  if constexpr (rule == Rule::momentum) {
    slot0 = c.momentum * slot0 + g;
    return r.rate * (c.nesterov ? g + c.momentum * slot0 : slot0);
  } else if constexpr (rule == Rule::rmsprop) {
    slot0 = c.decay * slot0 + c.rest * g * g;
    slot1 = c.momentum * slot1 + r.rate * g * rsqrtf(slot0 + c.epsilon);
    return slot1;
  } else if constexpr (rule == Rule::adam) {
    slot0 = c.beta1 * slot0 + c.rest1 * g;
    slot1 = c.beta2 * slot1 + c.rest2 * g * g;
    return __fdividef(r.step * slot0, root(slot1 * r.correction2) + c.epsilon);
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
__device__ inline void advance(const Constants& c, const Rates& r, Quad& quad) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float& p = quad.parameter[i];
    const float g = quad.gradient[i] + c.coupled_decay * p;
    p = p - r.rate * c.decoupled_decay * p - change<rule>(c, r, g, quad.slots[0][i], quad.slots[1][i]);
    if constexpr (kShadow) {
      float& shadow = quad.slots[slots_of(rule)][i];
      shadow += r.ema_rest * (p - shadow);
    }
  }
}

template <Rule rule, bool kShadow>
__global__ void __launch_bounds__(kThreads, 4)
    update_chunks(Constants constants, const StepContext* context, const float* scheduled,
                  const __grid_constant__ Chunks<UpdateTensor> chunks) {
  constexpr int kSlots = slots_of(rule) + (kShadow ? 1 : 0);
  __shared__ Rates shared;
  Rates rates;
  bool known = false;
  for_each_chunk(chunks, [&](const UpdateTensor& tensor, std::int64_t first) {
    Quad quads[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) load<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
    if (!known) {  // made while the first quads are on their way
      if (threadIdx.x == 0) shared = rates_at<rule, kShadow>(constants, scheduled, context->step);
      __syncthreads();
      rates = shared;
      known = true;
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      advance<rule, kShadow>(constants, rates, quads[q]);
      store<kSlots>(tensor, first + q * kThreads * 4, quads[q]);
    }
  });
}

template <Rule rule>
void start(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context, float* scheduled,
           const Chunks<UpdateTensor>& chunks, int most_blocks) {
  const Constants constants = constants_of(attrs);
  if (scheduled != nullptr) schedule_rate<<<1, 1, 0, stream>>>(attrs.schedule, context, scheduled);
  // Without a limit a block for every chunk: blocks that end soon leave room for what is more urgent.
  const int chunk_blocks = static_cast<int>(chunks.count);
  const int blocks = most_blocks > 0 ? std::min(most_blocks, chunk_blocks) : chunk_blocks;
  if (attrs.ema_decay > 0)
    update_chunks<rule, true><<<blocks, kThreads, 0, stream>>>(constants, context, scheduled, chunks);
  else
    update_chunks<rule, false><<<blocks, kThreads, 0, stream>>>(constants, context, scheduled, chunks);
}

}  // namespace

void update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context, float* scheduled,
            const Chunks<UpdateTensor>& chunks, int most_blocks) {
  if (chunks.count == 0) return;
  switch (attrs.rule) {
    case Rule::sgd:
      start<Rule::sgd>(stream, attrs, context, scheduled, chunks, most_blocks);
      break;
    case Rule::momentum:
      start<Rule::momentum>(stream, attrs, context, scheduled, chunks, most_blocks);
      break;
    case Rule::rmsprop:
      start<Rule::rmsprop>(stream, attrs, context, scheduled, chunks, most_blocks);
      break;
    case Rule::adam:
      start<Rule::adam>(stream, attrs, context, scheduled, chunks, most_blocks);
      break;
  }
  check_launch("update");
}

}  // namespace trainyard::backend::cuda::device
