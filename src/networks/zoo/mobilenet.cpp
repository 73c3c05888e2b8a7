#include "networks/generator/network_info.h"
#include "ops/shape.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;

// Builds TF-slim's mobilenet_v1 of full width: a 3x3 convolution, then pairs of depthwise 3x3 and pointwise
// 1x1 convolutions.
ValueId mobilenet_v1(Builder& b, ValueId images, int classes) {
  struct Pair {
    std::int64_t stride, filters;
  };
  constexpr Pair kPairs[] = {{1, 64},  {2, 128}, {1, 128}, {2, 256}, {1, 256},  {2, 512}, {1, 512},
                             {1, 512}, {1, 512}, {1, 512}, {1, 512}, {2, 1024}, {1, 1024}};
  const WeightInit init = WeightInit::truncated_normal(0.09);
  const ConvSpec style{.kernel = 3,
                       .norm = NormSpec{.decay = 0.9997, .epsilon = 1e-3},
                       .activation = ops::Activation::relu6,
                       .init = init};
  ConvSpec stem = style;
  stem.filters = 32;
  stem.stride = 2;
  ValueId x = b.conv("conv0", images, stem);
  int index = 0;
  for (const Pair& pair : kPairs) {
    const auto scope = b.scope(fmt::format("conv{}", ++index));
    ConvSpec depthwise = style;
    depthwise.filters = depthwise.groups = b.channels(x);
    depthwise.stride = pair.stride;
    x = b.conv("depthwise", x, depthwise);
    ConvSpec pointwise = style;
    pointwise.filters = pair.filters;
    pointwise.kernel = 1;
    x = b.conv("pointwise", x, pointwise);
  }
  x = b.global_average_pool("spatial_mean", x);
  x = b.dropout("dropout", x, 0.001);
  return b.logits(x, classes, {.init = init});
}

}  // namespace

std::vector<NetworkInfo> mobilenet_networks() {
  return {{.name = "mobilenet_v1",
           .family = "mobilenet",
           .description = "MobileNet of full width: depthwise and pointwise convolutions (TF-slim)",
           .input = {3, 224, 224},
           .classes = 1001,
           .preprocess = "standardise",
           .build = mobilenet_v1}};
}

namespace {

// SqueezeNet 1.0: fire modules squeeze the channels by a 1x1 convolution, and expand them by 1x1 and 3x3 side
// by side.
ValueId fire(Builder& b, const std::string& name, ValueId x, std::int64_t squeezed, std::int64_t expanded) {
  const auto scope = b.scope(name);
  x = b.conv("squeeze", x, {.filters = squeezed});
  return b.concat("concat", {b.conv("expand1x1", x, {.filters = expanded}),
                             b.conv("expand3x3", x, {.filters = expanded, .kernel = 3})});
}

ValueId squeezenet(Builder& b, ValueId images, int classes) {
  struct Fire {
    std::int64_t squeezed, expanded;
    bool pool_after = false;
  };
  constexpr Fire kFires[] = {{16, 64},  {16, 64},  {32, 128, true}, {32, 128},
                             {48, 192}, {48, 192}, {64, 256, true}, {64, 256}};
  const PoolSpec pool{.kernel = 3, .stride = 2, .padding = Padding::same};
  ValueId x = b.conv("conv1", images, {.filters = 96, .kernel = 7, .stride = 2, .padding = Padding::valid});
  x = b.max_pool("pool1", x, pool);
  int number = 2;
  for (const Fire& module : kFires) {
    const std::string name = fmt::format("fire{}", number++);
    x = fire(b, name, x, module.squeezed, module.expanded);
    if (module.pool_after) x = b.max_pool(name + "/pool", x, pool);
  }
  x = b.dropout("dropout", x, 0.5);
  x = b.conv("logits/conv10", x, {.filters = classes, .init = WeightInit::normal(0.01)});
  return ops::flatten(b.graph(), "logits", b.global_average_pool("pool10", x));
}

}  // namespace

std::vector<NetworkInfo> squeezenet_networks() {
  return {{.name = "squeezenet",
           .family = "squeezenet",
           .description = "SqueezeNet 1.0: fire modules, and no dense layer",
           .input = {3, 224, 224},
           .classes = 1000,
           .preprocess = "standardise",
           .build = squeezenet}};
}

}  // namespace trainyard::networks
