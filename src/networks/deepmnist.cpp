#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

// The network of TensorFlow's "Deep MNIST for experts" tutorial.
ValueId deepmnist(Builder& b, ValueId images, int classes) {
  const WeightInit init = WeightInit::truncated_normal(0.1);
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 32, .kernel = 5, .first_bias = 0.1, .init = init});
  x = b.max_pool("pool1", x, {.padding = Padding::same});
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5, .first_bias = 0.1, .init = init});
  x = b.max_pool("pool2", x, {.padding = Padding::same});
  x = b.dense("fc1", x, {.outputs = 1024, .first_bias = 0.1, .init = init});
  x = b.dropout("dropout1", x, 0.5);
  return b.logits(x, classes, {.first_bias = 0.1, .init = init});
}

}  // namespace

std::vector<NetworkInfo> deepmnist_networks() {
  return {{.name = "deepmnist",
           .family = "deepmnist",
           .description = "two 5x5 convolutions and two dense layers of the TensorFlow MNIST tutorial",
           .input = {1, 28, 28},
           .classes = 10,
           .preprocess = "unit",
           .build = deepmnist}};
}

}  // namespace trainyard::networks
