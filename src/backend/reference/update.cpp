#include "ops/update.h"

#include <cmath>

#include "backend/reference/functions.h"
#include "tensor/bfloat16.h"

namespace trainyard::backend::reference {
namespace {

using ops::Rule;
using ops::UpdateAttrs;

// What is the same for all elements of one step.
struct Step {
  Step(const UpdateAttrs& attrs, std::int64_t step)
      : rate(attrs.schedule.at(step)),
        correction1(1 - std::pow(attrs.beta1, static_cast<double>(step + 1))),
        correction2(1 - std::pow(attrs.beta2, static_cast<double>(step + 1))),
        ema(attrs.ema_decay_at(step)) {}

  double rate, correction1, correction2, ema;
};

// How many state slots `change` uses; attrs.slots() would allocate.
int slots_used(Rule rule) { return rule == Rule::sgd ? 0 : rule == Rule::momentum ? 1 : 2; }

// What the rule takes off one element with gradient g; moves its state.
inline double change(const UpdateAttrs& attrs, const Step& step, double g, double& slot0, double& slot1) {
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
struct Tensors {
  T* parameter;
  const T* gradient;
  T *slot0, *slot1, *shadow;  // nullptr where the rule has none
};

template <typename T>
void update_parameter(const UpdateAttrs& attrs, const Step& step, const Tensors<T>& at,
                      std::int64_t elements) {
  const double coupled = attrs.decoupled_decay ? 0 : attrs.weight_decay;
  const double decoupled = attrs.decoupled_decay ? attrs.weight_decay : 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double p = at.parameter[i];
    const double g = at.gradient[i] + coupled * p;
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
void round(const T* from, std::int64_t elements, BFloat16* to) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] = BFloat16(static_cast<float>(from[i]));
}

}  // namespace

void update(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<UpdateAttrs>();
    const Step step(attrs, args.context.step);
    const int used = slots_used(attrs.rule);
    const bool shadows = attrs.ema_decay > 0;
    const int count = (args.node.inputs() - attrs.rounded_copies) / (2 + used + (shadows ? 1 : 0));
    int copy = args.node.inputs() - attrs.rounded_copies;
    for (int i = 0; i < count; ++i) {
      const auto slot = [&](int k) { return args.state<T>((2 + k) * count + i); };
      update_parameter<T>(attrs, step,
                          {.parameter = args.state<T>(i),
                           .gradient = args.input<T>(count + i),
                           .slot0 = used > 0 ? slot(0) : nullptr,
                           .slot1 = used > 1 ? slot(1) : nullptr,
                           .shadow = shadows ? slot(used) : nullptr},
                          args.node.input_shape(i).elements());
      if (copy < args.node.inputs() && args.node.input_shape(i).rank() >= 2)
        round(args.input<T>(i), args.node.input_shape(i).elements(), args.state<BFloat16>(copy++));
    }
  });
}

}  // namespace trainyard::backend::reference
