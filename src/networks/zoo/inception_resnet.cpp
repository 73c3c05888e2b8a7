#include "networks/generator/network_info.h"

#include <fmt/core.h>

#include "networks/blocks.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

constexpr ConvSpec kInceptionResnetStyle{.norm = NormSpec{.decay = 0.9997, .epsilon = 1e-3, .scale = false},
                                         .init = WeightInit::xavier_uniform()};

struct Block {
  std::vector<Column> columns;
  double scale;
  bool relu = true;
};

// x + scale * (the columns, brought back to the width of x by a 1x1 convolution without norm).
ValueId residual(Builder& b, const std::string& name, ValueId x, const Block& block) {
  const ValueId mixed = inception_module(b, name, x, kInceptionResnetStyle, block.columns);
  const auto scope = b.scope(name);
  ValueId up = b.conv(
      "up", mixed,
      {.filters = b.channels(x), .activation = ops::Activation::none, .init = kInceptionResnetStyle.init});
  if (block.scale != 1) up = b.scale("scale", up, block.scale);
  const ValueId sum = b.add("add", {x, up});
  return block.relu ? b.relu("relu", sum) : sum;
}

ValueId inception_resnet_v2(Builder& b, ValueId images, int classes) {
  const Block block35{{{conv(32, 1)}, {conv(32, 1), conv(32, 3)}, {conv(32, 1), conv(48, 3), conv(64, 3)}},
                      0.17};
  const Block block17{{{conv(192, 1)}, {conv(128, 1), conv(160, {1, 7}), conv(192, {7, 1})}}, 0.1};
  const Block block8{{{conv(192, 1)}, {conv(192, 1), conv(224, {1, 3}), conv(256, {3, 1})}}, 0.2};
  ValueId x = inception_stem(b, images, kInceptionResnetStyle);
  x = inception_module(b, "mixed_5b", x, kInceptionResnetStyle,
                       {{conv(96, 1)},
                        {conv(48, 1), conv(64, 5)},
                        {conv(64, 1), conv(96, 3), conv(96, 3)},
                        {average_pool(), conv(64, 1)}});
  for (int i = 1; i <= 10; ++i) x = residual(b, fmt::format("block35_{}", i), x, block35);
  x = inception_module(
      b, "mixed_6a", x, kInceptionResnetStyle,
      {{halving_conv(384)}, {conv(256, 1), conv(256, 3), halving_conv(384)}, {halving_max_pool()}});
  for (int i = 1; i <= 20; ++i) x = residual(b, fmt::format("block17_{}", i), x, block17);
  x = inception_module(b, "mixed_7a", x, kInceptionResnetStyle,
                       {{conv(256, 1), halving_conv(384)},
                        {conv(256, 1), halving_conv(288)},
                        {conv(256, 1), conv(288, 3), halving_conv(320)},
                        {halving_max_pool()}});
  for (int i = 1; i <= 9; ++i) x = residual(b, fmt::format("block8_{}", i), x, block8);
  x = residual(b, "block8_10", x, {block8.columns, 1, false});
  ConvSpec last = kInceptionResnetStyle;
  last.filters = 1536;
  x = b.conv("conv_7b", x, last);
  x = b.global_average_pool("spatial_mean", x);
  x = b.dropout("dropout", x, 0.2);
  return b.logits(x, classes, {.init = WeightInit::xavier_uniform()});
}

}  // namespace

std::vector<NetworkInfo> inception_resnet_networks() {
  return {{.name = "inception_resnet_v2",
           .family = "inception",
           .description = "Inception-ResNet v2 without the auxiliary head (TF-slim)",
           .input = {3, 299, 299},
           .classes = 1001,
           .preprocess = "standardise",
           .build = inception_resnet_v2}};
}

}  // namespace trainyard::networks
