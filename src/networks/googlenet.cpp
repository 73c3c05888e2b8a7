#include "networks/families.h"

#include <fmt/core.h>

#include "networks/inception_module.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId googlenet(Builder& b, ValueId images, int classes) {
  struct Module {
    const char* name;
    std::int64_t one, three_reduce, three, five_reduce, five, pool;
    bool pool_after = false;
  };
  constexpr Module kModules[] = {
      {"module3a", 64, 96, 128, 16, 32, 32},           {"module3b", 128, 128, 192, 32, 96, 64, true},
      {"module4a", 192, 96, 208, 16, 48, 64},          {"module4b", 160, 112, 224, 24, 64, 64},
      {"module4c", 128, 128, 256, 24, 64, 64},         {"module4d", 112, 144, 288, 32, 64, 64},
      {"module4e", 256, 160, 320, 32, 128, 128, true}, {"module5a", 256, 160, 320, 32, 128, 128},
      {"module5b", 384, 192, 384, 48, 128, 128}};
  const PoolSpec halving{.kernel = 3, .stride = 2, .padding = Padding::same};
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 64, .kernel = 7, .stride = 2});
  x = b.max_pool("pool1", x, halving);
  x = b.conv("conv2_reduce", x, {.filters = 64, .kernel = 1});
  x = b.conv("conv2", x, {.filters = 192, .kernel = 3});
  x = b.max_pool("pool2", x, halving);
  for (const Module& m : kModules) {
    x = inception_module(b, m.name, x, {},
                         {{conv(m.one, 1)},
                          {conv(m.three_reduce, 1), conv(m.three, 3)},
                          {conv(m.five_reduce, 1), conv(m.five, 5)},
                          {max_pool(), conv(m.pool, 1)}});
    if (m.pool_after) x = b.max_pool(fmt::format("{}/pool", m.name), x, halving);
  }
  x = b.average_pool("pool5", x, {.kernel = 7, .stride = 1});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> googlenet_networks() {
  return {{.name = "googlenet",
           .family = "inception",
           .description = "GoogLeNet (Inception v1) without response norm and side losses",
           .input = {3, 224, 224},
           .classes = 1001,
           .preprocess = "standardise",
           .build = googlenet}};
}

}  // namespace trainyard::networks
