#pragma once

#include "ops/update.h"
#include "tensor/tensor.h"

namespace trainyard::backend::reference {

// UpdateStep holds the numbers that all elements of one step share.
struct UpdateStep {
  UpdateStep(const ops::UpdateAttrs& attrs, std::int64_t step)
      : rate(attrs.schedule.at(step)),
        correction1(1 - std::pow(attrs.beta1, static_cast<double>(step + 1))),
        correction2(1 - std::pow(attrs.beta2, static_cast<double>(step + 1))),
        ema(attrs.ema_decay_at(step)) {}

  double rate, correction1, correction2, ema;
};

// Returns the number of state slots that `change` uses; attrs.slots() would allocate.
inline int slots_used(ops::Rule rule) {
  return rule == ops::Rule::sgd ? 0 : rule == ops::Rule::momentum ? 1 : 2;
}

// Returns the amount that the rule subtracts from one element with gradient g, and updates its state.
inline double change(const ops::UpdateAttrs& attrs, const UpdateStep& step, double g, double& slot0,
                     double& slot1) {
  using ops::Rule;
  switch (attrs.rule) {
    case Rule::sgd:
      return step.rate * g;
    case Rule::momentum: {
      double& m = slot0;
      m = attrs.momentum * m + g;
      return step.rate * (attrs.nesterov ? g + attrs.momentum * m : m);
    }
    case Rule::rmsprop: {
      double &s = slot0, &m = slot1;
      s = attrs.decay * s + (1 - attrs.decay) * g * g;
      m = attrs.momentum * m + step.rate * g / std::sqrt(s + attrs.epsilon);
      return m;
    }
    case Rule::adam: {
      double &m = slot0, &v = slot1;
      m = attrs.beta1 * m + (1 - attrs.beta1) * g;
      v = attrs.beta2 * v + (1 - attrs.beta2) * g * g;
      return step.rate * (m / step.correction1) / (std::sqrt(v / step.correction2) + attrs.epsilon);
    }
  }
  return 0;
}

template <typename T>
struct Updated {
  T* parameter;
  T *slot0, *slot1, *shadow;  // nullptr where the rule has none
};

// `decays`: the weight decay counts. REQUIRES: gradient(i) returns the gradient of element i.
template <typename T, typename Gradient>
void update_parameter(const ops::UpdateAttrs& attrs, const UpdateStep& step, const Updated<T>& at,
                      bool decays, std::int64_t elements, const Gradient& gradient) {
  const double coupled = decays && !attrs.decoupled_decay ? attrs.weight_decay : 0;
  const double decoupled = decays && attrs.decoupled_decay ? attrs.weight_decay : 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double p = at.parameter[i];
    const double g = gradient(i) + coupled * p;
    double slot0 = at.slot0 != nullptr ? at.slot0[i] : T(0);
    double slot1 = at.slot1 != nullptr ? at.slot1[i] : T(0);
    const double next = p - change(attrs, step, g, slot0, slot1) - step.rate * decoupled * p;
    at.parameter[i] = static_cast<T>(next);
    if (at.slot0 != nullptr) at.slot0[i] = static_cast<T>(slot0);
    if (at.slot1 != nullptr) at.slot1[i] = static_cast<T>(slot1);
    if (at.shadow != nullptr) at.shadow[i] = static_cast<T>(step.ema * at.shadow[i] + (1 - step.ema) * next);
  }
}

template <typename T>
void round_copy(const T* from, std::int64_t elements, BFloat16* to) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] = BFloat16(static_cast<float>(from[i]));
}

}  // namespace trainyard::backend::reference
