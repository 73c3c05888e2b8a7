#include "networks/families.h"

#include <fmt/core.h>

namespace trainyard::networks {
namespace {

using graph::ValueId;

// TF-slim's mobilenet_v1 of full width: a 3x3 convolution, then pairs of depthwise 3x3 and pointwise 1x1.
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

}  // namespace trainyard::networks
