#include "networks/builder.h"

#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/layer_norm.h"
#include "ops/pool.h"
#include "ops/sequence/grouped_dense.h"
#include "ops/shape.h"

namespace trainyard::networks {

graph::Initializer WeightInit::for_fans(std::int64_t inputs, std::int64_t outputs) const {
  using graph::Initializer;
  const auto fan_in = static_cast<double>(inputs), fan_out = static_cast<double>(outputs);
  switch (kind_) {
    case Kind::normal:
      return Initializer::normal(value_);
    case Kind::truncated_normal:
      return Initializer::truncated_normal(value_);
    case Kind::variance_scaling:
      return Initializer::truncated_normal(std::sqrt(value_ / fan_in) / kTruncatedDeviation);
    case Kind::fan_in:
      return Initializer::truncated_normal(std::sqrt(value_ / fan_in));
    case Kind::xavier_uniform: {
      const double limit = std::sqrt(6 / (fan_in + fan_out));
      return Initializer::uniform(-limit, limit);
    }
  }
  return {};
}

using graph::Initializer;
using graph::ValueId;
using ops::Activation;

Builder::Scope::Scope(std::string& prefix, const std::string& name) : prefix_(prefix), outer_(prefix.size()) {
  prefix_ += name + "/";
}

Builder::Scope::~Scope() { prefix_.resize(outer_); }

ValueId Builder::parameter(const std::string& layer, const char* name, const Shape& shape,
                           Initializer initializer) {
  const std::string full = layer + "/" + name;
  TRAINYARD_CHECK(full.find(':') == std::string::npos);  // separates outputs and optimizer slots
  return graph_.add_parameter(full, {shape, dtype_}, initializer);
}

ValueId Builder::statistic(const std::string& layer, const char* name, const Shape& shape, double value) {
  return graph_.add_state(layer + "/" + name, {shape, dtype_}, graph::Role::statistic,
                          Initializer::constant(value));
}

ops::Window2d Builder::padded(ops::Window2d window, Padding padding, std::int64_t pad, std::int64_t height,
                              std::int64_t width) {
  if (padding == Padding::same) return with_same_padding(window, height, width);
  if (padding == Padding::fixed) {
    window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = pad;
  } else if (padding == Padding::centred) {
    window.pad_top = window.pad_bottom = (window.reach_h() - 1) / 2;
    window.pad_left = window.pad_right = (window.reach_w() - 1) / 2;
  }
  return window;
}

ops::Window2d Builder::window(ValueId x, const PoolSpec& spec) const {
  return padded({.kernel_h = spec.kernel.h,
                 .kernel_w = spec.kernel.w,
                 .stride_h = spec.stride,
                 .stride_w = spec.stride},
                spec.padding, spec.pad, graph_.shape(x)[2], graph_.shape(x)[3]);
}

ValueId Builder::conv(const std::string& name, ValueId x, const ConvSpec& spec) {
  const std::string layer = prefix_ + name;
  const Shape shape{spec.filters, channels(x) / spec.groups, spec.kernel.h, spec.kernel.w};
  const std::int64_t area = spec.kernel.h * spec.kernel.w;
  const auto own = [&](const char* what, const Shape& size, const Initializer& initializer) {
    return spec.shared ? graph_.find(layer + "/" + what) : parameter(layer, what, size, initializer);
  };
  const ValueId weight = own("weight", shape, spec.init.for_fans(shape[1] * area, shape[0] * area));
  const ValueId bias = spec.bias && !spec.norm
                           ? own("bias", {spec.filters}, Initializer::constant(spec.first_bias))
                           : graph::kNone;
  TRAINYARD_CHECK(weight != graph::kNone);
  const ops::Window2d window{.kernel_h = spec.kernel.h,
                             .kernel_w = spec.kernel.w,
                             .stride_h = spec.stride,
                             .stride_w = spec.stride,
                             .dilation_h = spec.dilation,
                             .dilation_w = spec.dilation};
  ValueId y =
      ops::conv2d(graph_, layer, x, weight, bias,
                  {.window = padded(window, spec.padding, spec.pad, graph_.shape(x)[2], graph_.shape(x)[3]),
                   .groups = spec.groups});
  if (spec.norm) y = norm_node(layer, layer + "/norm", y, *spec.norm);
  return spec.activation == Activation::none
             ? y
             : activation(name + "/" + ops::name(spec.activation), y, spec.activation);
}

ValueId Builder::transposed_conv(const std::string& name, ValueId x, const TransposedConvSpec& spec) {
  const std::string layer = prefix_ + name;
  const Kernel& kernel = spec.kernel;
  const std::int64_t inputs = channels(x), area = kernel.h * kernel.w, stride = spec.stride;
  const std::int64_t height = graph_.shape(x)[2] * stride, width = graph_.shape(x)[3] * stride;
  const ValueId weight = parameter(layer, "weight", {inputs, spec.filters, kernel.h, kernel.w},
                                   spec.init.for_fans(inputs * area, spec.filters * area));
  const ops::Window2d window{
      .kernel_h = kernel.h, .kernel_w = kernel.w, .stride_h = stride, .stride_w = stride};
  const ValueId y = ops::conv2d_transposed(graph_, layer, x, weight,
                                           {padded(window, Padding::same, 0, height, width)}, height, width);
  return spec.norm ? norm_node(layer, layer + "/norm", y, *spec.norm) : y;
}

ValueId Builder::dense(const std::string& name, ValueId x, const DenseSpec& spec) {
  const std::string layer = prefix_ + name;
  Shape shape = graph_.shape(x);
  shape[0] = spec.outputs;
  const WeightInit init = spec.init.value_or(WeightInit::fan_in(spec.activation == Activation::relu ? 2 : 1));
  const ValueId weight =
      spec.weight != graph::kNone
          ? spec.weight
          : parameter(layer, "weight", shape, init.for_fans(shape.elements_from(1), shape[0]));
  const ValueId bias = spec.bias
                           ? parameter(layer, "bias", {spec.outputs}, Initializer::constant(spec.first_bias))
                           : graph::kNone;
  if (spec.l2 != 0) penalties_.push_back({weight, spec.l2});
  const ValueId y = ops::dense(graph_, layer, x, weight, bias);
  return spec.activation == Activation::none
             ? y
             : activation(name + "/" + ops::name(spec.activation), y, spec.activation);
}

ValueId Builder::logits(ValueId x, int classes, DenseSpec spec) {
  spec.outputs = classes;
  spec.activation = Activation::none;
  return dense("logits", x, spec);
}

ValueId Builder::weight_of(const std::string& layer) const {
  const ValueId weight = graph_.find(prefix_ + layer + "/weight");
  TRAINYARD_CHECK(weight != graph::kNone);
  return weight;
}

ValueId Builder::embedding(const std::string& name, ValueId ids, const EmbeddingSpec& spec) {
  const std::string layer = prefix_ + name;
  const ValueId table = parameter(layer, "weight", {spec.vocabulary, spec.width},
                                  spec.init.for_fans(spec.vocabulary, spec.width));
  return ops::embedding(graph_, layer, table, ids);
}

ValueId Builder::recurrent(const std::string& name, ValueId x, const RecurrentSpec& spec) {
  const std::string layer = prefix_ + name;
  const std::int64_t inputs = graph_.shape(x)[2], rows = ops::gates_of(spec.cell) * spec.hidden;
  const ValueId weight = parameter(layer, "weight", {rows, inputs}, spec.init.for_fans(inputs, spec.hidden));
  const ValueId recurrent_weight =
      parameter(layer, "recurrent_weight", {rows, spec.hidden}, spec.init.for_fans(spec.hidden, spec.hidden));
  const ValueId bias = parameter(layer, "bias", {rows}, Initializer::constant(0));
  return ops::recurrent(graph_, layer, {x, weight, recurrent_weight, bias}, {spec.cell, training_});
}

ValueId Builder::norm_node(const std::string& layer, const std::string& node, ValueId x,
                           const NormSpec& spec) {
  const Shape shape{channels(x)};
  const ValueId gamma = spec.scale ? parameter(layer, "gamma", shape, Initializer::constant(spec.gamma))
                                   : statistic(layer, "gamma", shape, spec.gamma);
  const ValueId beta = parameter(layer, "beta", shape, Initializer::constant(0));
  const ValueId mean = statistic(layer, "running_mean", shape, 0);
  const ValueId variance = statistic(layer, "running_variance", shape, 1);
  return ops::batch_norm(graph_, node, {x, gamma, beta, mean, variance},
                         {.epsilon = spec.epsilon, .momentum = 1 - spec.decay, .training = training_});
}

ValueId Builder::batch_norm(const std::string& name, ValueId x, const NormSpec& spec) {
  return norm_node(prefix_ + name, prefix_ + name, x, spec);
}

ValueId Builder::max_pool(const std::string& name, ValueId x, const PoolSpec& spec) {
  return ops::max_pool(graph_, prefix_ + name, x, window(x, spec));
}

ValueId Builder::upsample(const std::string& name, ValueId x, std::int64_t factor) {
  return ops::upsample(graph_, prefix_ + name, x, {factor});
}

ValueId Builder::average_pool(const std::string& name, ValueId x, const PoolSpec& spec) {
  return ops::average_pool(graph_, prefix_ + name, x, {window(x, spec)});
}

ValueId Builder::global_average_pool(const std::string& name, ValueId x) {
  return ops::global_average_pool(graph_, prefix_ + name, x);
}

ValueId Builder::layer_norm(const std::string& name, ValueId x, const LayerNormSpec& spec) {
  const std::string layer = prefix_ + name;
  const Shape shape{channels(x)};
  const ValueId gamma = parameter(layer, "gamma", shape, Initializer::constant(1));
  const ValueId beta =
      spec.centred ? parameter(layer, "beta", shape, Initializer::constant(0)) : graph::kNone;
  return ops::layer_norm(graph_, layer, x, gamma, beta, spec.epsilon);
}

ValueId Builder::attention(const std::string& name, ValueId qkv, const ops::AttentionAttrs& attrs) {
  return ops::attention(graph_, prefix_ + name, qkv, graph::kNone, attrs);
}

ValueId Builder::rotary(const std::string& name, ValueId x, ValueId first, const ops::RotaryAttrs& attrs) {
  return ops::rotary(graph_, prefix_ + name, x, first, attrs);
}

ValueId Builder::cached_attention(const std::string& name, const ops::CachedAttentionInputs& inputs,
                                  const ops::CachedAttentionAttrs& attrs) {
  return ops::cached_attention(graph_, prefix_ + name, inputs, attrs);
}

ops::Routed Builder::route(const std::string& name, ValueId x, const RouterSpec& spec) {
  const ValueId scores = dense(
      name, x, {.outputs = spec.experts, .activation = Activation::none, .init = spec.init, .bias = false});
  const ops::Routed routed = ops::route(graph_, prefix_ + name + "/route", scores, {spec.choices});
  if (training_ && spec.balance > 0) imbalances_.push_back({{scores, routed.offsets}, spec.balance});
  return routed;
}

ValueId Builder::dispatch(const std::string& name, ValueId x, const ops::Routed& routed) {
  return ops::dispatch(graph_, prefix_ + name, x, routed.place);
}

ValueId Builder::grouped_dense(const std::string& name, ValueId x, const ops::Routed& routed,
                               const GroupedDenseSpec& spec) {
  const std::string layer = prefix_ + name;
  const std::int64_t groups = graph_.shape(routed.offsets)[0] - 1, inputs = channels(x);
  const ValueId weight =
      parameter(layer, "weight", {groups, spec.outputs, inputs}, spec.init.for_fans(inputs, spec.outputs));
  const ValueId bias =
      spec.bias ? parameter(layer, "bias", {groups * spec.outputs}, Initializer::constant(0)) : graph::kNone;
  return ops::grouped_dense(graph_, layer, x, weight, routed.offsets, bias);
}

ValueId Builder::combine(const std::string& name, ValueId x, const ops::Routed& routed) {
  return ops::combine(graph_, prefix_ + name, x, routed);
}

ValueId Builder::smooth_unit(const std::string& name, ValueId x, const ops::SmoothUnitAttrs& attrs) {
  return ops::smooth_unit(graph_, prefix_ + name, x, attrs);
}

ValueId Builder::learned_positions(const std::string& name, std::int64_t steps, std::int64_t width,
                                   WeightInit init) {
  return parameter(prefix_ + name, "weight", {steps, width}, init.for_fans(steps, width));
}

ValueId Builder::sinusoidal_positions(const std::string& name, std::int64_t steps, std::int64_t width) {
  return graph_.add_state(prefix_ + name + "/table", {{steps, width}, dtype_}, graph::Role::statistic,
                          Initializer::listed(ops::sinusoids(steps, width)));
}

ValueId Builder::add_positions(const std::string& name, ValueId x, ValueId table,
                               const ops::SequenceRows& rows) {
  return ops::add_positions(graph_, prefix_ + name, x, table, rows);
}

ValueId Builder::add_positions_at(const std::string& name, ValueId x, ValueId table, ValueId places) {
  const std::string layer = prefix_ + name;
  const ValueId rows = ops::embedding(graph_, layer + "/at", table, places);
  return ops::add(graph_, layer, {x, ops::reshape(graph_, layer + "/rows", rows, graph_.shape(x))});
}

ValueId Builder::cache(const std::string& name, const Shape& shape) {
  return graph_.add_state(prefix_ + name, {shape, dtype_}, graph::Role::statistic, Initializer::constant(0));
}

ValueId Builder::lrn(const std::string& name, ValueId x, const ops::LocalResponseNormAttrs& attrs) {
  return ops::local_response_norm(graph_, prefix_ + name, x, attrs);
}

ValueId Builder::activation(const std::string& name, ValueId x, Activation kind) {
  return ops::activation(graph_, prefix_ + name, x, {kind});
}

ValueId Builder::relu(const std::string& name, ValueId x) { return activation(name, x, Activation::relu); }

ValueId Builder::dropout(const std::string& name, ValueId x, double rate) {
  return training_ ? ops::dropout(graph_, prefix_ + name, x, rate) : x;
}

ValueId Builder::concat(const std::string& name, std::vector<ValueId> parts) {
  return ops::concat(graph_, prefix_ + name, std::move(parts));
}

ValueId Builder::add(const std::string& name, std::vector<ValueId> terms) {
  return ops::add(graph_, prefix_ + name, std::move(terms));
}

ValueId Builder::scale(const std::string& name, ValueId x, double factor) {
  return ops::scale(graph_, prefix_ + name, x, factor);
}

ValueId Builder::pad_channels(const std::string& name, ValueId x, std::int64_t wanted) {
  const std::int64_t missing = wanted - channels(x);
  return ops::pad(graph_, prefix_ + name, x, {0, missing / 2, 0, 0}, {0, missing - missing / 2, 0, 0});
}

}  // namespace trainyard::networks
