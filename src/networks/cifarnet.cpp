#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

// The network of TensorFlow's CIFAR-10 tutorial; the second norm stands before its pool.
ValueId cifarnet(Builder& b, ValueId images, int classes) {
  const ops::LocalResponseNormAttrs norm{.window = 9, .k = 1, .alpha = 0.001 / 9, .beta = 0.75};
  const PoolSpec pool{.kernel = 3, .stride = 2, .padding = Padding::same};
  const WeightInit conv_init = WeightInit::truncated_normal(0.05);
  const WeightInit local_init = WeightInit::truncated_normal(0.04);
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 64, .kernel = 5, .init = conv_init});
  x = b.max_pool("pool1", x, pool);
  x = b.lrn("norm1", x, norm);
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5, .first_bias = 0.1, .init = conv_init});
  x = b.lrn("norm2", x, norm);
  x = b.max_pool("pool2", x, pool);
  x = b.dense("local3", x, {.outputs = 384, .first_bias = 0.1, .init = local_init, .l2 = 0.004});
  x = b.dense("local4", x, {.outputs = 192, .first_bias = 0.1, .init = local_init, .l2 = 0.004});
  return b.logits(x, classes, {.init = WeightInit::truncated_normal(1.0 / 192)});
}

}  // namespace

std::vector<NetworkInfo> cifarnet_networks() {
  return {{.name = "cifarnet",
           .family = "cifarnet",
           .description = "two 5x5 convolutions with response norm, three dense layers (CIFAR-10 tutorial)",
           .input = {3, 24, 24},
           .classes = 10,
           .preprocess = "cifarnet",
           .build = cifarnet}};
}

}  // namespace trainyard::networks
