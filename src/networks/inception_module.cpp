#include "networks/inception_module.h"

#include <fmt/core.h>

namespace trainyard::networks {
namespace {

using graph::ValueId;

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
