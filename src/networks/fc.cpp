#include "networks/families.h"

#include <fmt/core.h>

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId fc_stack(Builder& b, ValueId images, int classes, const StackSizes& sizes) {
  const int layers = sizes.layers == 0 ? 5 : sizes.layers;
  const std::int64_t width = sizes.width == 0 ? 1024 : sizes.width;
  ValueId x = images;
  for (int layer = 1; layer < layers; ++layer) x = b.dense(fmt::format("fc{}", layer), x, {.outputs = width});
  return b.logits(x, classes);
}

ValueId fc(Builder& b, ValueId images, int classes) { return fc_stack(b, images, classes, {}); }

}  // namespace

std::vector<NetworkInfo> fc_networks() {
  return {{.name = "fc",
           .family = "fc",
           .description = "four hidden dense layers of 1024 with ReLU",
           .input = {1000},
           .classes = 100,
           .preprocess = "unit",
           .build = fc,
           .build_stack = fc_stack}};
}

}  // namespace trainyard::networks
