#include "networks/blocks.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;

ValueId googlenet(Builder& b, ValueId images, int classes) {
  struct Module {
    const char* name;
    std::int64_t one, three_reduce, three, five_reduce, five, pool;
    bool pool_after = false;
  };
  constexpr Module kModules[] = {
      {"module3a", 64, 96, 128, 16, 32, 32},           {"module3b", 128, 128, 192, 32, 96, 64, true},
      {"module4a", 192, 96, 208, 16, 48, 64},          {"module4b", 160, 112, 224, 24, 64, 64},
      {"module4c", 128, 128, 256, 24, 64, 64},         {"module4d", 112, 144, 288, 32, 64, 64},
      {"module4e", 256, 160, 320, 32, 128, 128, true}, {"module5a", 256, 160, 320, 32, 128, 128},
      {"module5b", 384, 192, 384, 48, 128, 128}};
  const PoolSpec halving{.kernel = 3, .stride = 2, .padding = Padding::same};
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 64, .kernel = 7, .stride = 2});
  x = b.max_pool("pool1", x, halving);
  x = b.conv("conv2_reduce", x, {.filters = 64, .kernel = 1});
  x = b.conv("conv2", x, {.filters = 192, .kernel = 3});
  x = b.max_pool("pool2", x, halving);
  for (const Module& m : kModules) {
    x = inception_module(b, m.name, x, {},
                         {{conv(m.one, 1)},
                          {conv(m.three_reduce, 1), conv(m.three, 3)},
                          {conv(m.five_reduce, 1), conv(m.five, 5)},
                          {max_pool(), conv(m.pool, 1)}});
    if (m.pool_after) x = b.max_pool(fmt::format("{}/pool", m.name), x, halving);
  }
  x = b.average_pool("pool5", x, {.kernel = 7, .stride = 1});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> googlenet_networks() {
  return {{.name = "googlenet",
           .family = "inception",
           .description = "GoogLeNet (Inception v1) without response norm and side losses",
           .input = {3, 224, 224},
           .classes = 1001,
           .preprocess = "standardise",
           .build = googlenet}};
}

namespace {

constexpr ConvSpec kInception3Style{.norm = NormSpec{.decay = 0.999, .epsilon = 1e-3, .scale = false}};

std::vector<Column> module_a(std::int64_t pooled) {
  return {{conv(64, 1)},
          {conv(48, 1), conv(64, 5)},
          {conv(64, 1), conv(96, 3), conv(96, 3)},
          {average_pool(), conv(pooled, 1)}};
}

std::vector<Column> module_b() {
  return {{halving_conv(384)}, {conv(64, 1), conv(96, 3), halving_conv(96)}, {halving_max_pool()}};
}

std::vector<Column> module_c(std::int64_t n) {
  return {{conv(192, 1)},
          {conv(n, 1), conv(n, {1, 7}), conv(192, {7, 1})},
          {conv(n, 1), conv(n, {7, 1}), conv(n, {1, 7}), conv(n, {7, 1}), conv(192, {1, 7})},
          {average_pool(), conv(192, 1)}};
}

std::vector<Column> module_d() {
  return {{conv(192, 1), halving_conv(320)},
          {conv(192, 1), conv(192, {1, 7}), conv(192, {7, 1}), halving_conv(192)},
          {halving_max_pool()}};
}

std::vector<Column> module_e(const ColumnLayer& pool) {
  return {{conv(320, 1)},
          {conv(384, 1), conv(384, {1, 3})},
          {shared(), conv(384, {3, 1})},
          {conv(448, 1), conv(384, 3), conv(384, {1, 3})},
          {shared(), shared(), conv(384, {3, 1})},
          {pool, conv(192, 1)}};
}

ValueId inception3(Builder& b, ValueId images, int classes) {
  ValueId x = inception_stem(b, images, kInception3Style);
  int index = 0;
  for (const std::vector<Column>& module :
       {module_a(32), module_a(64), module_a(64), module_b(), module_c(128), module_c(160), module_c(160),
        module_c(192), module_d(), module_e(average_pool()), module_e(max_pool())})
    x = inception_module(b, fmt::format("mixed{}", index++), x, kInception3Style, module);
  x = b.average_pool("pool", x, {.kernel = 8, .stride = 1});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> inception3_networks() {
  return {{.name = "inception3",
           .family = "inception",
           .description = "Inception v3 without the auxiliary head",
           .input = {3, 299, 299},
           .classes = 1001,
           .preprocess = "standardise",
           .build = inception3}};
}

namespace {

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
