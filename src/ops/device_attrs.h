#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

// Attributes that device code reads, too: this file includes neither the graph nor fmt, which nvcc cannot
// compile, nor what it takes long to read.
namespace trainyard::ops {

// Every one of these has a derivative that follows from its output alone, so a fused producer need not keep
// the input.
enum class Activation : std::uint8_t { none, relu, relu6, leaky_relu, sigmoid, tanh };

// x times a smooth step: the normal distribution function, its approximation by tanh, the logistic function.
enum class SmoothKind : std::uint8_t { gelu, gelu_tanh, silu };

// Learning rate as a function of the step, so that every backend can compute it where the update runs.
struct Schedule {
  enum class Kind : std::uint8_t { constant, step_decay, exponential_decay, cosine };
  Kind kind = Kind::constant;
  double rate = 0.1;             // at step 0, after the warm-up
  double factor = 0.1;           // decays: multiplied in every decay_steps
  std::int64_t decay_steps = 1;  // cosine: length of the half wave
  double final_rate = 0;         // cosine: where it ends and stays
  std::int64_t warmup_steps =
      0;  // linear from rate / warmup_steps up to rate; the other kinds start after it

  constexpr double at(std::int64_t step) const;  // constexpr: devices call it, too
  constexpr bool is_constant() const { return kind == Kind::constant && warmup_steps == 0; }
};

constexpr double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const double t =
      static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps < 1 ? 1 : decay_steps);
  switch (kind) {
    case Kind::constant:
      return rate;
    case Kind::step_decay:
      return rate * std::pow(factor, std::floor(t));
    case Kind::exponential_decay:
      return rate * std::pow(factor, t);
    case Kind::cosine:
      return final_rate + (rate - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * (t < 1 ? t : 1.0)));
  }
  return rate;
}

enum class Rule : std::uint8_t { sgd, momentum, rmsprop, adam };

// Updates all parameters. With clip_norm > 0, g below is the gradient times min(1, clip_norm / norm), where
// norm is the Euclidean norm of all gradients together. With rate r = schedule at this step, and g' = g +
// weight_decay * p unless the decay is decoupled:
//   sgd       p -= r g'
//   momentum  m = momentum * m + g';  p -= r m, or r (g' + momentum * m) with nesterov
//   rmsprop   s = decay * s + (1 - decay) g'^2;  m = momentum * m + r g' / sqrt(s + epsilon);  p -= m
//             (TensorFlow's form: epsilon inside the root, s starts at one)
//   adam      m = beta1 * m + (1 - beta1) g';  v = beta2 * v + (1 - beta2) g'^2;
//             p -= r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon),  t = step + 1
// A decoupled decay (AdamW) subtracts r * weight_decay * p as well. With decay_matrices_only, parameters of
// fewer than two dimensions (biases, factors and offsets of norms) decay in neither way. With ema_decay > 0 a
// shadow of the weights is kept: shadow = d * shadow + (1 - d) * p, d = min(ema_decay, (1 + t) / (10 + t)), t
// = step.
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
  bool decay_matrices_only = false;
  double clip_norm = 0;
  double ema_decay = 0;
  // Set where activations are bf16: so many copies of weights, rounded to bf16, are written as well; one for
  // each parameter of two or more dimensions, in their order. They are the last inputs.
  int rounded_copies = 0;

  int slots() const;  // state tensors per parameter, the shadow weights last
  constexpr double ema_decay_at(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    return ema_decay < (1 + t) / (10 + t) ? ema_decay : (1 + t) / (10 + t);
  }
};

}  // namespace trainyard::ops
