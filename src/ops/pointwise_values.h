#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

// Functions of one number, whose slope follows from the number, for hosts and devices. Device code reads this
// file: it includes neither the graph nor fmt, which nvcc cannot compile.
namespace trainyard::ops {

// Each kind has its formula behind it: x is the number, a and b are attributes.
enum class PointwiseKind : std::uint8_t {
  linear,        // a x + b
  clip,          // from a to b
  elu,           // b (x > 0 ? x : a (exp(x) - 1))
  celu,          // x > 0 ? x : a (exp(x / a) - 1)
  hard_sigmoid,  // a x + b, from 0 to 1
  hard_swish,    // x (x / 6 + 1/2, from 0 to 1)
  softplus,      // log(1 + exp(x))
  softsign,      // x / (1 + |x|)
  mish,          // x tanh(softplus(x))
  threshold,     // x > a ? x : 0
  exp,
  log,
  sqrt,
  reciprocal,
  power,  // x^a
  absolute,
  erf,
  sin,
  cos,
};

struct PointwiseAttrs {
  PointwiseKind kind = PointwiseKind::linear;
  double a = 1, b = 0;
};

template <typename T>
struct PointwiseValue {
  T value, slope;
};

template <typename T>
constexpr T softplus_of(T x) {
  return x > T(20) ? x : std::log1p(std::exp(x));  // the difference is below what f32 tells apart
}

// At a bend the slope is that of PyTorch.
template <PointwiseKind kind, typename T>
constexpr PointwiseValue<T> pointwise_at(T x, T a, T b) {
  using enum PointwiseKind;
  if constexpr (kind == linear) return {a * x + b, a};
  if constexpr (kind == clip)
    return x < a   ? PointwiseValue<T>{a, T(0)}
           : x > b ? PointwiseValue<T>{b, T(0)}
                   : PointwiseValue<T>{x, T(1)};
  if constexpr (kind == elu) {
    const T below = a * std::expm1(x);
    return x > 0 ? PointwiseValue<T>{b * x, b} : PointwiseValue<T>{b * below, b * (below + a)};
  }
  if constexpr (kind == celu) {
    const T below = std::expm1(x / a);
    return x > 0 ? PointwiseValue<T>{x, T(1)} : PointwiseValue<T>{a * below, below + 1};
  }
  if constexpr (kind == hard_sigmoid) {
    const T y = a * x + b;
    return y <= 0   ? PointwiseValue<T>{T(0), T(0)}
           : y >= 1 ? PointwiseValue<T>{T(1), T(0)}
                    : PointwiseValue<T>{y, a};
  }
  if constexpr (kind == hard_swish)
    return x <= -3  ? PointwiseValue<T>{T(0), T(0)}
           : x >= 3 ? PointwiseValue<T>{x, T(1)}
                    : PointwiseValue<T>{x * (x + 3) / 6, x / 3 + T(0.5)};
  if constexpr (kind == softplus) return {softplus_of(x), 1 / (1 + std::exp(-x))};
  if constexpr (kind == softsign) {
    const T share = 1 / (1 + std::abs(x));
    return {x * share, share * share};
  }
  if constexpr (kind == mish) {
    const T t = std::tanh(softplus_of(x));
    return {x * t, t + x * (1 - t * t) / (1 + std::exp(-x))};
  }
  if constexpr (kind == threshold) return x > a ? PointwiseValue<T>{x, T(1)} : PointwiseValue<T>{T(0), T(0)};
  if constexpr (kind == PointwiseKind::exp) {
    const T y = std::exp(x);
    return {y, y};
  }
  if constexpr (kind == PointwiseKind::log) return {std::log(x), 1 / x};
  if constexpr (kind == PointwiseKind::sqrt) {
    const T y = std::sqrt(x);
    return {y, T(0.5) / y};
  }
  if constexpr (kind == reciprocal) return {1 / x, -1 / (x * x)};
  if constexpr (kind == power) return {std::pow(x, a), a == 0 ? T(0) : a * std::pow(x, a - 1)};
  if constexpr (kind == absolute) return {std::abs(x), x > 0 ? T(1) : x < 0 ? T(-1) : T(0)};
  if constexpr (kind == PointwiseKind::erf)
    return {std::erf(x), T(2 * std::numbers::inv_sqrtpi) * std::exp(-x * x)};
  if constexpr (kind == PointwiseKind::sin) return {std::sin(x), std::cos(x)};
  if constexpr (kind == PointwiseKind::cos) return {std::cos(x), -std::sin(x)};
}

// Calls function.template operator()<kind>().
template <typename Function>
void with_pointwise_kind(PointwiseKind kind, const Function& function) {
  using enum PointwiseKind;
  switch (kind) {
    case linear:
      return function.template operator()<linear>();
    case clip:
      return function.template operator()<clip>();
    case elu:
      return function.template operator()<elu>();
    case celu:
      return function.template operator()<celu>();
    case hard_sigmoid:
      return function.template operator()<hard_sigmoid>();
    case hard_swish:
      return function.template operator()<hard_swish>();
    case softplus:
      return function.template operator()<softplus>();
    case softsign:
      return function.template operator()<softsign>();
    case mish:
      return function.template operator()<mish>();
    case threshold:
      return function.template operator()<threshold>();
    case PointwiseKind::exp:
      return function.template operator()<PointwiseKind::exp>();
    case PointwiseKind::log:
      return function.template operator()<PointwiseKind::log>();
    case PointwiseKind::sqrt:
      return function.template operator()<PointwiseKind::sqrt>();
    case reciprocal:
      return function.template operator()<reciprocal>();
    case power:
      return function.template operator()<power>();
    case absolute:
      return function.template operator()<absolute>();
    case PointwiseKind::erf:
      return function.template operator()<PointwiseKind::erf>();
    case PointwiseKind::sin:
      return function.template operator()<PointwiseKind::sin>();
    case PointwiseKind::cos:
      return function.template operator()<PointwiseKind::cos>();
  }
}

}  // namespace trainyard::ops
