#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId lenet(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 32, .kernel = 5});
  x = b.max_pool("pool1", x, {});
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5});
  x = b.max_pool("pool2", x, {});
  x = b.dense("fc1", x, {.outputs = 512});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> lenet_networks() {
  return {{.name = "lenet",
           .family = "lenet",
           .description = "LeNet-5 as tf_cnn_benchmarks has it: 5x5 convolutions, dense 512, colour input",
           .input = {3, 28, 28},
           .classes = 10,
           .preprocess = "lenet",
           .build = lenet}};
}

}  // namespace trainyard::networks
