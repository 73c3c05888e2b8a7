#pragma once

#include <string>

#include "networks/builder.h"

namespace trainyard::networks {

enum class Shortcut : std::uint8_t {
  identity,
  project,       // 1x1 convolution with batch norm
  pad_channels,  // every stride-th pixel, zero channels on either side: no parameters
};

struct ResidualBlock {
  std::int64_t width = 64;  // of the inner convolutions
  std::int64_t stride = 1;
  Shortcut shortcut = Shortcut::identity;
  Padding padding = Padding::centred;
  bool stride_on_first = false;  // bottleneck: on the 1x1 (ResNet v1) instead of the 3x3 ("v1.5")
  double last_gamma = 1;         // first scale of the last norm; 0 lets the block start as its shortcut
};

inline constexpr int kBottleneckGrowth = 4;  // output channels over width

// Two 3x3 convolutions beside the shortcut, added, ReLU: `width` channels come out.
graph::ValueId basic_block(Builder& builder, const std::string& name, graph::ValueId x,
                           const ResidualBlock& block);
// 1x1, 3x3, 1x1 beside the shortcut, added, ReLU: 4 * `width` channels come out.
graph::ValueId bottleneck_block(Builder& builder, const std::string& name, graph::ValueId x,
                                const ResidualBlock& block);

// A convolution with the norm of residual networks.
graph::ValueId residual_conv(Builder& builder, const std::string& name, graph::ValueId x, ConvSpec spec,
                             double gamma = 1);

}  // namespace trainyard::networks
