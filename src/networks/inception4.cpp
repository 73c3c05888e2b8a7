#include "networks/families.h"

#include <fmt/core.h>

#include "networks/inception_module.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

constexpr ConvSpec kInception4Style{.norm = NormSpec{.decay = 0.999, .epsilon = 1e-3, .scale = false}};

ColumnLayer valid_conv(std::int64_t filters, std::int64_t kernel) {
  return {ColumnLayer::Kind::conv, filters, kernel, 1, Padding::valid};
}

ValueId stem(Builder& b, ValueId x) {
  ConvSpec spec = kInception4Style;
  spec.filters = 32;
  spec.kernel = 3;
  spec.padding = Padding::valid;
  spec.stride = 2;
  x = b.conv("conv1", x, spec);
  spec.stride = 1;
  x = b.conv("conv2", x, spec);
  spec.filters = 64;
  spec.padding = Padding::same;
  x = b.conv("conv3", x, spec);
  x = inception_module(b, "stem_a", x, kInception4Style, {{halving_max_pool()}, {halving_conv(96)}});
  x = inception_module(b, "stem_b", x, kInception4Style,
                       {{conv(64, 1), valid_conv(96, 3)},
                        {conv(64, 1), conv(64, {7, 1}), conv(64, {1, 7}), valid_conv(96, 3)}});
  return inception_module(b, "stem_c", x, kInception4Style, {{halving_conv(192)}, {halving_max_pool()}});
}

std::vector<Column> block_a() {
  return {{average_pool(), conv(96, 1)},
          {conv(96, 1)},
          {conv(64, 1), conv(96, 3)},
          {conv(64, 1), conv(96, 3), conv(96, 3)}};
}

std::vector<Column> reduction_a() {
  return {{halving_max_pool()}, {halving_conv(384)}, {conv(192, 1), conv(224, 3), halving_conv(256)}};
}

std::vector<Column> block_b() {
  return {{average_pool(), conv(128, 1)},
          {conv(384, 1)},
          {conv(192, 1), conv(224, {1, 7}), conv(256, {7, 1})},
          {conv(192, 1), conv(192, {1, 7}), conv(224, {7, 1}), conv(224, {1, 7}), conv(256, {7, 1})}};
}

std::vector<Column> reduction_b() {
  return {{halving_max_pool()},
          {conv(192, 1), halving_conv(192)},
          {conv(256, 1), conv(256, {1, 7}), conv(320, {7, 1}), halving_conv(320)}};
}

std::vector<Column> block_c() {
  return {{average_pool(), conv(256, 1)},
          {conv(256, 1)},
          {conv(384, 1), conv(256, {1, 3})},
          {shared(), conv(256, {3, 1})},
          {conv(384, 1), conv(448, {1, 3}), conv(512, {3, 1}), conv(256, {3, 1})},
          {shared(), shared(), shared(), conv(256, {1, 3})}};
}

ValueId inception4(Builder& b, ValueId images, int classes) {
  ValueId x = stem(b, images);
  for (int i = 1; i <= 4; ++i)
    x = inception_module(b, fmt::format("module_a{}", i), x, kInception4Style, block_a());
  x = inception_module(b, "reduction_a", x, kInception4Style, reduction_a());
  for (int i = 1; i <= 7; ++i)
    x = inception_module(b, fmt::format("module_b{}", i), x, kInception4Style, block_b());
  x = inception_module(b, "reduction_b", x, kInception4Style, reduction_b());
  for (int i = 1; i <= 3; ++i)
    x = inception_module(b, fmt::format("module_c{}", i), x, kInception4Style, block_c());
  x = b.global_average_pool("spatial_mean", x);
  x = b.dropout("dropout", x, 0.2);
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> inception4_networks() {
  return {{.name = "inception4",
           .family = "inception",
           .description = "Inception v4",
           .input = {3, 299, 299},
           .classes = 1001,
           .preprocess = "standardise",
           .build = inception4}};
}

}  // namespace trainyard::networks
