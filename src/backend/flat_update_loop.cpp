#include "backend/flat_update.h"

namespace trainyard::backend {
namespace {

// Rule, Nesterov and shadow weights are template arguments: the loop has no branches and vectorises. Old and
// new may be one array, so nothing is promised about aliases but that no element reads another's.
template <ops::Rule rule, bool nesterov, bool ema>
void update(const FlatUpdate::Arrays& arrays, const FlatUpdate::Rates& rates, std::int64_t begin,
            std::int64_t end) {
  constexpr std::size_t kShadow = rule == ops::Rule::sgd ? 0 : rule == ops::Rule::momentum ? 1 : 2;
  const FlatUpdate::Rates r = rates;
  const float *p = arrays.parameters, *g = arrays.gradient;
  const float *s0 = arrays.slots[0], *s1 = arrays.slots[1], *shadow = arrays.slots[kShadow];
  float *new_p = arrays.new_parameters, *new_s0 = arrays.new_slots[0], *new_s1 = arrays.new_slots[1];
  float* new_shadow = arrays.new_slots[kShadow];
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float gradient = r.gradient_factor * g[i] + r.weight_decay * p[i];
    float change = 0;
    if constexpr (rule == ops::Rule::sgd) {
      change = r.rate * gradient;
    } else if constexpr (rule == ops::Rule::momentum) {
      const float m = r.momentum * s0[i] + gradient;
      change = r.rate * (nesterov ? gradient + r.momentum * m : m);
      new_s0[i] = m;
    } else if constexpr (rule == ops::Rule::rmsprop) {
      const float s = r.decay * s0[i] + (1 - r.decay) * gradient * gradient;
      change = r.momentum * s1[i] + r.rate * gradient / std::sqrt(s + r.epsilon);
      new_s0[i] = s;
      new_s1[i] = change;
    } else {
      const float m = r.beta1 * s0[i] + (1 - r.beta1) * gradient;
      const float v = r.beta2 * s1[i] + (1 - r.beta2) * gradient * gradient;
      change = r.rate * (m * r.correction1) / (std::sqrt(v * r.correction2) + r.epsilon);
      new_s0[i] = m;
      new_s1[i] = v;
    }
    const float moved = p[i] - r.shrink * p[i] - change;
    if constexpr (ema) new_shadow[i] = r.ema * shadow[i] + (1 - r.ema) * moved;
    new_p[i] = moved;
  }
}

template <bool ema>
FlatUpdate::Loop pick(const ops::UpdateAttrs& attrs) {
  switch (attrs.rule) {
    case ops::Rule::sgd:
      return update<ops::Rule::sgd, false, ema>;
    case ops::Rule::momentum:
      return attrs.nesterov ? update<ops::Rule::momentum, true, ema>
                            : update<ops::Rule::momentum, false, ema>;
    case ops::Rule::rmsprop:
      return update<ops::Rule::rmsprop, false, ema>;
    case ops::Rule::adam:
      break;
  }
  return update<ops::Rule::adam, false, ema>;
}

}  // namespace

FlatUpdate::Loop flat_update_loop(const ops::UpdateAttrs& attrs) {
  return attrs.ema_decay > 0 ? pick<true>(attrs) : pick<false>(attrs);
}

}  // namespace trainyard::backend
