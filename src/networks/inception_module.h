#pragma once

#include <string>
#include <vector>

#include "networks/builder.h"

namespace trainyard::networks {

// A layer of one column of an inception module.
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
// The layer at the same place of the column before: two columns with a common beginning.
inline ColumnLayer shared() { return {ColumnLayer::Kind::shared}; }

// The columns side by side on x, joined over channels. `style` gives norm, activation and initialisation.
graph::ValueId inception_module(Builder& builder, const std::string& name, graph::ValueId x,
                                const ConvSpec& style, const std::vector<Column>& columns);

// The plain layers that Inception v3 and Inception-ResNet v2 begin with: an eighth of the image, 192
// channels.
graph::ValueId inception_stem(Builder& builder, graph::ValueId x, const ConvSpec& style);

}  // namespace trainyard::networks
