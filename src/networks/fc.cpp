#include "networks/families.h"

#include <fmt/core.h>

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId fc(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  for (int layer = 1; layer <= 4; ++layer) x = b.dense(fmt::format("fc{}", layer), x, {.outputs = 1024});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> fc_networks() {
  return {{.name = "fc",
           .family = "fc",
           .description = "four hidden dense layers of 1024 with ReLU",
           .input = {1000},
           .classes = 100,
           .preprocess = "unit",
           .build = fc}};
}

}  // namespace trainyard::networks
