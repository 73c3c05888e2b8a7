#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

// TF-slim's alexnet_v2 ("one weird trick"), its fully connected convolutions written as dense layers.
ValueId alexnet_v2(Builder& b, ValueId images, int classes) {
  const PoolSpec pool{.kernel = 3, .stride = 2};
  const WeightInit dense_init = WeightInit::truncated_normal(0.005);
  const auto conv = [&](const char* name, ValueId x, std::int64_t filters, std::int64_t kernel,
                        std::int64_t stride = 1, Padding padding = Padding::same) {
    return b.conv(name, x,
                  {.filters = filters,
                   .kernel = kernel,
                   .stride = stride,
                   .padding = padding,
                   .first_bias = 0.1,
                   .init = WeightInit::xavier_uniform()});
  };
  ValueId x = images;
  x = conv("conv1", x, 64, 11, 4, Padding::valid);
  x = b.max_pool("pool1", x, pool);
  x = conv("conv2", x, 192, 5);
  x = b.max_pool("pool2", x, pool);
  x = conv("conv3", x, 384, 3);
  x = conv("conv4", x, 384, 3);
  x = conv("conv5", x, 256, 3);
  x = b.max_pool("pool5", x, pool);
  x = b.dense("fc6", x, {.outputs = 4096, .first_bias = 0.1, .init = dense_init});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096, .first_bias = 0.1, .init = dense_init});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes, {.init = dense_init});
}

}  // namespace

std::vector<NetworkInfo> alexnet_networks() {
  return {{.name = "alexnet_v2",
           .family = "alexnet",
           .description = "AlexNet without response norm, for one device (TF-slim)",
           .input = {3, 224, 224},
           .classes = 1001,
           .preprocess = "standardise",
           .build = alexnet_v2}};
}

}  // namespace trainyard::networks
