#include "networks/layers/activations.h"

namespace trainyard::networks::layers {
namespace {

using graph::ValueId;
using ops::Activation;
using ops::PointwiseKind;
using ops::SmoothKind;

constexpr std::array kFused = {Activation::relu, Activation::relu6, Activation::leaky_relu,
                               Activation::sigmoid, Activation::tanh};
constexpr std::array kSmooth = {SmoothKind::gelu, SmoothKind::gelu_tanh, SmoothKind::silu};
// With the constants that frameworks have where none are given.
constexpr std::array<ops::PointwiseAttrs, 6> kPointwise = {{{PointwiseKind::elu, 1, 1},
                                                            {PointwiseKind::hard_sigmoid, 1.0 / 6, 0.5},
                                                            {PointwiseKind::hard_swish},
                                                            {PointwiseKind::softplus},
                                                            {PointwiseKind::softsign},
                                                            {PointwiseKind::mish}}};

}  // namespace

const std::vector<std::string>& Activating::words() {
  static const std::vector<std::string> kWords = [] {
    std::vector<std::string> words{"none"};
    for (const Activation kind : kFused) words.emplace_back(ops::name(kind));
    for (const SmoothKind kind : kSmooth) words.emplace_back(ops::name(kind));
    for (const ops::PointwiseAttrs& attrs : kPointwise) words.emplace_back(ops::name(attrs.kind));
    return words;
  }();
  return kWords;
}

Activating::Activating(const std::string& word) : word_(word) {
  for (const Activation kind : kFused)
    if (word == ops::name(kind)) fused_ = kind;
  for (const SmoothKind kind : kSmooth)
    if (word == ops::name(kind)) smooth_ = kind;
  for (const ops::PointwiseAttrs& attrs : kPointwise)
    if (word == ops::name(attrs.kind)) pointwise_ = attrs;
}

ValueId Activating::behind(Builder& builder, const std::string& layer, ValueId x) const {
  return smooth_ || pointwise_ ? apply(builder, layer + "/" + word_, x) : x;
}

ValueId Activating::apply(Builder& builder, const std::string& name, ValueId x) const {
  if (smooth_) return builder.smooth_unit(name, x, {*smooth_});
  if (pointwise_) return ops::pointwise(builder.graph(), name, x, *pointwise_);
  return fused_ == Activation::none ? x : builder.activation(name, x, fused_);
}

}  // namespace trainyard::networks::layers
