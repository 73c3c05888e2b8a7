#pragma once

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

// The body of a ResNet for large images.
struct ResidualBody {
  bool bottleneck = true;
  std::array<int, 4> blocks{3, 4, 6, 3};
  bool stride_on_first = false;  // of bottlenecks, as ResidualBlock has it
};

// Adds the stem and the four groups, whose images have a quarter, an eighth, ... of the rows and columns;
// returns what each group makes.
std::array<graph::ValueId, 4> residual_groups(Builder& builder, graph::ValueId images,
                                              const ResidualBody& body);

// Adds a convolution with the norm of residual networks.
graph::ValueId residual_conv(Builder& builder, const std::string& name, graph::ValueId x, ConvSpec spec,
                             double gamma = 1);

// Describes a layer of one column of an inception module.
struct ColumnLayer {
  enum class Kind : std::uint8_t { conv, max_pool, average_pool, shared };
  Kind kind;
  std::int64_t filters = 0;
  Kernel kernel = 1;
  std::int64_t stride = 1;
  Padding padding = Padding::same;
};
using Column = std::vector<ColumnLayer>;

inline ColumnLayer conv(std::int64_t filters, Kernel kernel) {
  return {ColumnLayer::Kind::conv, filters, kernel};
}
// 3x3 with stride 2 and no padding, as modules that halve the image have it.
inline ColumnLayer halving_conv(std::int64_t filters) {
  return {ColumnLayer::Kind::conv, filters, 3, 2, Padding::valid};
}
inline ColumnLayer halving_max_pool() { return {ColumnLayer::Kind::max_pool, 0, 3, 2, Padding::valid}; }
// 3x3 pools that keep the size.
inline ColumnLayer max_pool() { return {ColumnLayer::Kind::max_pool, 0, 3}; }
inline ColumnLayer average_pool() { return {ColumnLayer::Kind::average_pool, 0, 3}; }
// Stands for the layer at the same place of the column before: two columns with a common beginning.
inline ColumnLayer shared() { return {ColumnLayer::Kind::shared}; }

// Adds the columns side by side on x, joined over channels. `style` gives norm, activation and
// initialisation.
graph::ValueId inception_module(Builder& builder, const std::string& name, graph::ValueId x,
                                const ConvSpec& style, const std::vector<Column>& columns);

// Adds the plain layers that Inception v3 and Inception-ResNet v2 begin with: an eighth of the image, 192
// channels.
graph::ValueId inception_stem(Builder& builder, graph::ValueId x, const ConvSpec& style);

}  // namespace trainyard::networks
