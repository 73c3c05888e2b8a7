#include "networks/blocks.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;
using ops::Activation;

ValueId shortcut(Builder& b, ValueId x, const ResidualBlock& block, std::int64_t channels) {
  switch (block.shortcut) {
    case Shortcut::identity:
      break;
    case Shortcut::project:
      return residual_conv(b, "projection", x,
                           {.filters = channels, .stride = block.stride, .activation = Activation::none});
    case Shortcut::pad_channels:
      return b.pad_channels("shortcut_pad",
                            b.average_pool("shortcut_pool", x, {.kernel = 1, .stride = block.stride}),
                            channels);
  }
  return x;
}

}  // namespace

ValueId residual_conv(Builder& b, const std::string& name, ValueId x, ConvSpec spec, double gamma) {
  spec.norm = NormSpec{.decay = 0.9, .epsilon = 1e-5, .gamma = gamma};
  return b.conv(name, x, spec);
}

ValueId basic_block(Builder& b, const std::string& name, ValueId x, const ResidualBlock& block) {
  const auto scope = b.scope(name);
  const ValueId beside = shortcut(b, x, block, block.width);
  const ConvSpec first{.filters = block.width, .kernel = 3, .stride = block.stride, .padding = block.padding};
  const ConvSpec second{
      .filters = block.width, .kernel = 3, .padding = block.padding, .activation = Activation::none};
  ValueId y = residual_conv(b, "conv1", x, first);
  y = residual_conv(b, "conv2", y, second, block.last_gamma);
  return b.relu("relu", b.add("add", {beside, y}));
}

ValueId bottleneck_block(Builder& b, const std::string& name, ValueId x, const ResidualBlock& block) {
  const auto scope = b.scope(name);
  const std::int64_t channels = kBottleneckGrowth * block.width;
  const ValueId beside = shortcut(b, x, block, channels);
  const std::int64_t first_stride = block.stride_on_first ? block.stride : 1;
  const ConvSpec middle{
      .filters = block.width, .kernel = 3, .stride = block.stride / first_stride, .padding = block.padding};
  ValueId y = residual_conv(b, "conv1", x, {.filters = block.width, .stride = first_stride});
  y = residual_conv(b, "conv2", y, middle);
  y = residual_conv(b, "conv3", y, {.filters = channels, .activation = Activation::none}, block.last_gamma);
  return b.relu("relu", b.add("add", {beside, y}));
}

std::array<ValueId, 4> residual_groups(Builder& b, ValueId images, const ResidualBody& body) {
  ValueId x = residual_conv(b, "stem", images,
                            {.filters = 64, .kernel = 7, .stride = 2, .padding = Padding::centred});
  x = b.max_pool("pool", x, {.kernel = 3, .stride = 2, .padding = Padding::same});
  std::array<ValueId, 4> made{};
  std::int64_t width = 64;
  for (std::size_t group = 0; group < body.blocks.size(); ++group, width *= 2) {
    const std::int64_t channels = body.bottleneck ? kBottleneckGrowth * width : width;
    for (int i = 0; i < body.blocks[group]; ++i) {
      const ResidualBlock block{
          .width = width,
          .stride = group > 0 && i == 0 ? 2 : 1,
          .shortcut = b.channels(x) == channels ? Shortcut::identity : Shortcut::project,
          .stride_on_first = body.stride_on_first};
      const std::string name = fmt::format("group{}/block{}", group + 1, i + 1);
      x = body.bottleneck ? bottleneck_block(b, name, x, block) : basic_block(b, name, x, block);
    }
    made[group] = x;
  }
  return made;
}

namespace {

ValueId add_layer(Builder& b, const std::string& name, ValueId x, ConvSpec style, const ColumnLayer& layer) {
  const PoolSpec pool{layer.kernel, layer.stride, layer.padding};
  if (layer.kind == ColumnLayer::Kind::max_pool) return b.max_pool(name, x, pool);
  if (layer.kind == ColumnLayer::Kind::average_pool) return b.average_pool(name, x, pool);
  style.filters = layer.filters;
  style.kernel = layer.kernel;
  style.stride = layer.stride;
  style.padding = layer.padding;
  return b.conv(name, x, style);
}

}  // namespace

ValueId inception_module(Builder& b, const std::string& name, ValueId input, const ConvSpec& style,
                         const std::vector<Column>& columns) {
  const auto scope = b.scope(name);
  std::vector<ValueId> ends, before, made;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    made.clear();
    for (std::size_t l = 0; l < columns[c].size(); ++l) {
      const ColumnLayer& layer = columns[c][l];
      const bool is_conv = layer.kind == ColumnLayer::Kind::conv;
      made.push_back(layer.kind == ColumnLayer::Kind::shared
                         ? before.at(l)
                         : add_layer(b, fmt::format("column{}/{}{}", c + 1, is_conv ? "conv" : "pool", l + 1),
                                     l == 0 ? input : made.back(), style, layer));
    }
    ends.push_back(made.back());
    before = made;
  }
  return b.concat("concat", ends);
}

ValueId inception_stem(Builder& b, ValueId x, const ConvSpec& style) {
  const auto layer = [&](const char* name, std::int64_t filters, std::int64_t kernel, std::int64_t stride,
                         Padding padding) {
    ConvSpec spec = style;
    spec.filters = filters;
    spec.kernel = kernel;
    spec.stride = stride;
    spec.padding = padding;
    x = b.conv(name, x, spec);
  };
  const PoolSpec halving{.kernel = 3, .stride = 2};
  layer("conv1", 32, 3, 2, Padding::valid);
  layer("conv2", 32, 3, 1, Padding::valid);
  layer("conv3", 64, 3, 1, Padding::same);
  x = b.max_pool("pool3", x, halving);
  layer("conv4", 80, 1, 1, Padding::valid);
  layer("conv5", 192, 3, 1, Padding::valid);
  return b.max_pool("pool5", x, halving);
}

}  // namespace trainyard::networks
