#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/schedule.h"

// Without the graph, so that device code can include it.
namespace trainyard::ops {

enum class Rule : std::uint8_t { sgd, momentum, rmsprop, adam };

// One pass over all parameters. With gradient g, rate r = schedule at this step, and g' = g + weight_decay *
// p unless the decay is decoupled:
//   sgd       p -= r g'
//   momentum  m = momentum * m + g';  p -= r m, or r (g' + momentum * m) with nesterov
//   rmsprop   s = decay * s + (1 - decay) g'^2;  m = momentum * m + r g' / sqrt(s + epsilon);  p -= m
//             (TensorFlow's form: epsilon inside the root, s starts at one)
//   adam      m = beta1 * m + (1 - beta1) g';  v = beta2 * v + (1 - beta2) g'^2;
//             p -= r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon),  t = step + 1
// A decoupled decay (AdamW) subtracts r * weight_decay * p as well. With ema_decay > 0 a shadow of the
// weights is kept: shadow = d * shadow + (1 - d) * p, d = min(ema_decay, (1 + t) / (10 + t)), t = step.
struct UpdateAttrs {
  Rule rule = Rule::sgd;
  Schedule schedule{};
  double momentum = 0.9;
  bool nesterov = false;
  double decay = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_decay = false;
  double ema_decay = 0;
  // Set where activations are bf16: so many copies of weights, rounded to bf16, are written as well; one for
  // each parameter of two or more dimensions, in their order. They are the last inputs.
  int rounded_copies = 0;

  int slots() const;  // state tensors per parameter, the shadow weights last
  constexpr double ema_decay_at(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    return std::min(ema_decay, (1 + t) / (10 + t));
  }
};

}  // namespace trainyard::ops
