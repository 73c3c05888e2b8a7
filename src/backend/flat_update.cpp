#include "backend/flat_update.h"

#include <cmath>

namespace trainyard::backend {

// The numbers that all elements of one step share.
struct FlatUpdate::Rates {
  float rate, momentum, decay, beta1, beta2, epsilon, weight_decay, shrink, correction1, correction2, ema;
};

FlatUpdate::Rates FlatUpdate::rates_at(std::int64_t step) const {
  const double t = static_cast<double>(step + 1);
  const double rate = attrs_.schedule.at(step);
  return {static_cast<float>(rate),
          static_cast<float>(attrs_.momentum),
          static_cast<float>(attrs_.decay),
          static_cast<float>(attrs_.beta1),
          static_cast<float>(attrs_.beta2),
          static_cast<float>(attrs_.epsilon),
          static_cast<float>(attrs_.decoupled_decay ? 0 : attrs_.weight_decay),
          static_cast<float>(attrs_.decoupled_decay ? rate * attrs_.weight_decay : 0),
          static_cast<float>(1 / (1 - std::pow(attrs_.beta1, t))),
          static_cast<float>(1 / (1 - std::pow(attrs_.beta2, t))),
          static_cast<float>(attrs_.ema_decay_at(step))};
}

// Rule, Nesterov and shadow weights are template arguments: the loop has no branches and vectorises. Old and
// new may be one array, so nothing is promised about aliases but that no element reads another's.
template <ops::Rule rule, bool nesterov, bool ema>
void FlatUpdate::update(const Arrays& arrays, const Rates& rates, std::int64_t begin, std::int64_t end) {
  constexpr std::size_t kShadow = rule == ops::Rule::sgd ? 0 : rule == ops::Rule::momentum ? 1 : 2;
  const Rates r = rates;
  const float *p = arrays.parameters, *g = arrays.gradient;
  const float *s0 = arrays.slots[0], *s1 = arrays.slots[1], *shadow = arrays.slots[kShadow];
  float *new_p = arrays.new_parameters, *new_s0 = arrays.new_slots[0], *new_s1 = arrays.new_slots[1];
  float* new_shadow = arrays.new_slots[kShadow];
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float gradient = g[i] + r.weight_decay * p[i];
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
auto FlatUpdate::pick(const ops::UpdateAttrs& attrs) {
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

FlatUpdate::FlatUpdate(const ops::UpdateAttrs& attrs)
    : attrs_(attrs),
      slots_(attrs.slots()),
      update_(attrs.ema_decay > 0 ? pick<true>(attrs) : pick<false>(attrs)) {}

FlatUpdate::Arrays FlatUpdate::in_place(float* parameters, const float* gradient,
                                        const std::array<float*, kMaxSlots>& slots) {
  return {parameters, gradient, {slots[0], slots[1], slots[2]}, parameters, slots};
}

void FlatUpdate::apply(const Arrays& arrays, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  update_(arrays, rates_at(step), begin, end);
}

}  // namespace trainyard::backend
