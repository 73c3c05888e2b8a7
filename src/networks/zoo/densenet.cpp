#include "networks/generator/network_info.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;

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

// The layers of "Densely Connected Convolutional Networks" for ImageNet: a 1x1 convolution to four times the
// growth before each 3x3, and transitions that halve the channels.
ValueId bottleneck_layer(Builder& b, ValueId x, std::int64_t growth) {
  const auto conv = [&](const char* name, ValueId from, std::int64_t filters, std::int64_t kernel) {
    return b.conv(name, from,
                  {.filters = filters,
                   .kernel = kernel,
                   .bias = false,
                   .activation = ops::Activation::none,
                   .init = WeightInit::variance_scaling(2)});
  };
  const ValueId narrow = conv("reduce", norm_relu(b, "norm1", x), 4 * growth, 1);
  return b.concat("concat", {x, conv("conv", norm_relu(b, "norm2", narrow), growth, 3)});
}

ValueId densenet121(Builder& b, ValueId images, int classes) {
  constexpr std::array kLayers = {6, 12, 24, 16};
  constexpr std::int64_t kGrowth = 32;
  ValueId x =
      b.conv("stem", images,
             {.filters = 2 * kGrowth, .kernel = 7, .stride = 2, .padding = Padding::centred, .norm = kNorm});
  x = b.max_pool("pool", x, {.kernel = 3, .stride = 2, .padding = Padding::centred});
  for (std::size_t block = 0; block < kLayers.size(); ++block) {
    const auto block_scope = b.scope(fmt::format("block{}", block + 1));
    for (int layer = 1; layer <= kLayers[block]; ++layer) {
      const auto layer_scope = b.scope(fmt::format("layer{}", layer));
      x = bottleneck_layer(b, x, kGrowth);
    }
    if (block + 1 == kLayers.size()) continue;
    const auto transition_scope = b.scope("transition");
    x = b.conv("conv", norm_relu(b, "norm", x),
               {.filters = b.channels(x) / 2,
                .bias = false,
                .activation = ops::Activation::none,
                .init = WeightInit::variance_scaling(2)});
    x = b.average_pool("pool", x, {});
  }
  x = norm_relu(b, "norm", x);
  return b.logits(b.global_average_pool("spatial_mean", x), classes);
}

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
          densenet_row("densenet100_k24", "DenseNet of 100 layers, growth 24, for CIFAR", densenet100_k24),
          {.name = "densenet121",
           .family = "densenet",
           .description = "DenseNet of 121 layers, growth 32",
           .input = {3, 224, 224},
           .classes = 1000,
           .preprocess = "standardise",
           .build = densenet121}};
}

}  // namespace trainyard::networks
