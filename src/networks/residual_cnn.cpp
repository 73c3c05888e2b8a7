#include "networks/residual_cnn.h"

#include <fmt/core.h>

#include "networks/residual_block.h"

namespace trainyard::networks {

using graph::ValueId;

ValueId residual_cnn(Builder& b, ValueId images, int classes, const ResidualCnn& cnn) {
  ValueId x =
      residual_conv(b, "stem", images,
                    {.filters = cnn.base_filters, .kernel = 7, .stride = 2, .padding = Padding::centred});
  x = b.max_pool("pool", x, {.kernel = 3, .stride = 2, .padding = Padding::same});
  std::int64_t width = cnn.base_filters;
  for (std::size_t group = 0; group < cnn.blocks.size(); ++group, width *= 2)
    for (int i = 0; i < cnn.blocks[group]; ++i) {
      const ResidualBlock block{.width = width,
                                .stride = group > 0 && i == 0 ? 2 : 1,
                                .shortcut = i == 0 ? Shortcut::project : Shortcut::identity,
                                .last_gamma = 0};
      const std::string name = fmt::format("group{}/block{}", group + 1, i + 1);
      x = cnn.bottleneck ? bottleneck_block(b, name, x, block) : basic_block(b, name, x, block);
    }
  x = b.average_pool("last_pool", x, {.kernel = 7, .stride = 1});
  return b.logits(x, classes, {.init = WeightInit::normal(0.01)});
}

}  // namespace trainyard::networks
