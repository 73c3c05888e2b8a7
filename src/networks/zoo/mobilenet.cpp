#include "networks/generator/network_info.h"

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

constexpr NormSpec kNorm{.decay = 0.9, .epsilon = 1e-5};

ValueId norm_relu(Builder& b, const std::string& name, ValueId x) {
  return b.relu(name + "/relu", b.batch_norm(name, x, kNorm));
}

// The origin's transition layers have twice the growth rate as filters, whatever comes in (its channel
// count is overwritten inside the dense block). The published counts follow from that.
ValueId transition(Builder& b, ValueId x, std::int64_t growth) {
  const std::int64_t filters = 2 * growth;
  x = norm_relu(b, "norm", x);
  x = b.conv("conv", x,
             {.filters = filters,
              .init = WeightInit::truncated_normal(std::sqrt(2.0 / 9 / static_cast<double>(filters)))});
  return b.average_pool("pool", x, {});
}

ValueId densenet(Builder& b, ValueId images, int classes, int layers, std::int64_t growth) {
  const WeightInit init = WeightInit::truncated_normal(std::sqrt(2.0 / 9 / static_cast<double>(growth)));
  ValueId x = b.conv("stem", images, {.filters = 16, .kernel = 3, .activation = ops::Activation::none});
  for (int block = 1; block <= 3; ++block) {
    const auto block_scope = b.scope(fmt::format("block{}", block));
    for (int layer = 1; layer <= layers; ++layer) {
      const auto layer_scope = b.scope(fmt::format("layer{}", layer));
      const ValueId grown =
          b.conv("conv", norm_relu(b, "norm", x),
                 {.filters = growth, .kernel = 3, .activation = ops::Activation::none, .init = init});
      x = b.concat("concat", {x, grown});
    }
    if (block == 3) continue;
    const auto transition_scope = b.scope("transition");
    x = transition(b, x, growth);
  }
  x = norm_relu(b, "norm", x);
  return b.logits(b.global_average_pool("spatial_mean", x), classes);
}

ValueId densenet40_k12(Builder& b, ValueId x, int classes) { return densenet(b, x, classes, 12, 12); }
ValueId densenet100_k12(Builder& b, ValueId x, int classes) { return densenet(b, x, classes, 32, 12); }
ValueId densenet100_k24(Builder& b, ValueId x, int classes) { return densenet(b, x, classes, 32, 24); }

NetworkInfo densenet_row(const char* name, const char* description, decltype(NetworkInfo::build) build) {
  return {.name = name,
          .family = "densenet",
          .description = description,
          .input = {3, 32, 32},
          .classes = 10,
          .preprocess = "cifar-flip",
          .build = build};
}

}  // namespace

std::vector<NetworkInfo> densenet_networks() {
  return {densenet_row("densenet40_k12", "DenseNet of 40 layers, growth 12, for CIFAR", densenet40_k12),
          densenet_row("densenet100_k12", "DenseNet of 100 layers, growth 12, for CIFAR", densenet100_k12),
          densenet_row("densenet100_k24", "DenseNet of 100 layers, growth 24, for CIFAR", densenet100_k24)};
}

}  // namespace trainyard::networks
