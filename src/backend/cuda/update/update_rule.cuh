#pragma once

#include <cmath>

#include "backend/cuda/runtime/chunks.cuh"
#include "backend/cuda/update/update_kernels.h"

// These functions move four neighbouring parameters and their state by each rule.
namespace trainyard::backend::cuda::device {

using ops::Rule;

// RuleConstants holds the numbers that all elements of all steps share; the host prepares them in double.
struct RuleConstants {
  float momentum, decay, beta1, beta2, epsilon, coupled_decay, decoupled_decay;
  float rest, rest1, rest2;  // 1 - decay, 1 - beta1, 1 - beta2
  float log_beta1, log_beta2;
  float ema_rest;  // 1 - ema_decay
  float rate;      // of a constant schedule
  bool nesterov, matrices_decay_alone;
};

inline RuleConstants constants_of(const ops::UpdateAttrs& attrs) {
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
          .nesterov = attrs.nesterov,
          .matrices_decay_alone = attrs.decay_matrices_only};
}

// RuleRates holds the numbers that change from step to step; one thread of a block makes them for all. 1 -
// beta^t is -expm1(t log beta), and 1 - ema is 9 / (10 + t) at first: so no precision is lost where these are
// close to one.
struct RuleRates {
  float rate, step, correction2, ema_rest;  // step: of adam, with its correction of the first moment
  float gradient_factor;
};

template <Rule rule, bool kShadow>
__device__ inline RuleRates rates_at(const RuleConstants& c, const float* scheduled, std::int64_t step) {
  RuleRates r{};
  const auto t = static_cast<float>(step);
  r.rate = scheduled != nullptr ? *scheduled : c.rate;
  r.gradient_factor = 1;
  if constexpr (rule == Rule::adam) {
    r.step = -r.rate / expm1f((t + 1) * c.log_beta1);
    r.correction2 = -1 / expm1f((t + 1) * c.log_beta2);
  }
  if constexpr (kShadow) r.ema_rest = fmaxf(c.ema_rest, 9 / (10 + t));
  return r;
}

template <Rule rule, bool kShadow>
inline constexpr int kRuleSlots = (rule == Rule::sgd        ? 0
                                   : rule == Rule::momentum ? 1
                                                            : 2) +
                                  (kShadow ? 1 : 0);

// These approximations give up some bits of the last digit to save many instructions: with exact roots and
// quotients the arithmetic would take longer than memory does.
__device__ inline float root(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Returns the amount that the rule subtracts from a parameter with gradient g, and updates its state.
template <Rule rule>
__device__ inline float change(const RuleConstants& c, const RuleRates& r, float g, float& slot0,
                               float& slot1) {
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

struct ParameterQuad {
  float parameter[4], gradient[4], slots[3][4];
};

template <int kSlots>
__device__ inline void load_state(const UpdateTensor& tensor, std::int64_t at, ParameterQuad& quad) {
  load_quad(tensor.parameter, at, tensor.elements, quad.parameter);
#pragma unroll
  for (int s = 0; s < kSlots; ++s) load_quad(tensor.slots[s], at, tensor.elements, quad.slots[s]);
}

template <int kSlots>
__device__ inline void store_state(const UpdateTensor& tensor, std::int64_t at, const ParameterQuad& quad) {
  store_quad(tensor.parameter, at, tensor.elements, quad.parameter);
  if (tensor.rounded != nullptr)
    store_quad(static_cast<bf16*>(tensor.rounded), at, tensor.elements, quad.parameter);
#pragma unroll
  for (int s = 0; s < kSlots; ++s) store_quad(tensor.slots[s], at, tensor.elements, quad.slots[s]);
}

template <Rule rule, bool kShadow>
__device__ inline void advance(const RuleConstants& c, const RuleRates& r, bool decays, ParameterQuad& quad) {
  const float coupled_decay = decays ? c.coupled_decay : 0.0f;
  const float decoupled_decay = decays ? c.decoupled_decay : 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float& p = quad.parameter[i];
    const float g = r.gradient_factor * quad.gradient[i] + coupled_decay * p;
    p = p - r.rate * decoupled_decay * p - change<rule>(c, r, g, quad.slots[0][i], quad.slots[1][i]);
    if constexpr (kShadow) {
      float& shadow = quad.slots[kRuleSlots<rule, false>][i];
      shadow += r.ema_rest * (p - shadow);
    }
  }
}

// Calls body.operator()<rule, kShadow>().
template <typename Body>
void with_rule(const ops::UpdateAttrs& attrs, const Body& body) {
  const auto with = [&]<Rule rule>() {
    if (attrs.ema_decay > 0) return body.template operator()<rule, true>();
    body.template operator()<rule, false>();
  };
  switch (attrs.rule) {
    case Rule::sgd:
      return with.template operator()<Rule::sgd>();
    case Rule::momentum:
      return with.template operator()<Rule::momentum>();
    case Rule::rmsprop:
      return with.template operator()<Rule::rmsprop>();
    case Rule::adam:
      return with.template operator()<Rule::adam>();
  }
}

}  // namespace trainyard::backend::cuda::device
