#include "networks/residual_block.h"

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

}  // namespace trainyard::networks
