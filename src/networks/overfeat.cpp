#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId overfeat(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 96, .kernel = 11, .stride = 4, .padding = Padding::valid});
  x = b.max_pool("pool1", x, {});
  x = b.conv("conv2", x, {.filters = 256, .kernel = 5, .padding = Padding::valid});
  x = b.max_pool("pool2", x, {});
  x = b.conv("conv3", x, {.filters = 512, .kernel = 3});
  x = b.conv("conv4", x, {.filters = 1024, .kernel = 3});
  x = b.conv("conv5", x, {.filters = 1024, .kernel = 3});
  x = b.max_pool("pool5", x, {});
  x = b.dense("fc6", x, {.outputs = 3072});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> overfeat_networks() {
  return {{.name = "overfeat",
           .family = "overfeat",
           .description = "OverFeat, the fast model: five convolutions, wide dense layers",
           .input = {3, 231, 231},
           .classes = 1001,
           .preprocess = "standardise",
           .build = overfeat}};
}

}  // namespace trainyard::networks
