#include "networks/families.h"

#include <fmt/core.h>

#include "networks/inception_module.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

constexpr ConvSpec kInception3Style{.norm = NormSpec{.decay = 0.999, .epsilon = 1e-3, .scale = false}};

std::vector<Column> module_a(std::int64_t pooled) {
  return {{conv(64, 1)},
          {conv(48, 1), conv(64, 5)},
          {conv(64, 1), conv(96, 3), conv(96, 3)},
          {average_pool(), conv(pooled, 1)}};
}

std::vector<Column> module_b() {
  return {{halving_conv(384)}, {conv(64, 1), conv(96, 3), halving_conv(96)}, {halving_max_pool()}};
}

std::vector<Column> module_c(std::int64_t n) {
  return {{conv(192, 1)},
          {conv(n, 1), conv(n, {1, 7}), conv(192, {7, 1})},
          {conv(n, 1), conv(n, {7, 1}), conv(n, {1, 7}), conv(n, {7, 1}), conv(192, {1, 7})},
          {average_pool(), conv(192, 1)}};
}

std::vector<Column> module_d() {
  return {{conv(192, 1), halving_conv(320)},
          {conv(192, 1), conv(192, {1, 7}), conv(192, {7, 1}), halving_conv(192)},
          {halving_max_pool()}};
}

std::vector<Column> module_e(const ColumnLayer& pool) {
  return {{conv(320, 1)},
          {conv(384, 1), conv(384, {1, 3})},
          {shared(), conv(384, {3, 1})},
          {conv(448, 1), conv(384, 3), conv(384, {1, 3})},
          {shared(), shared(), conv(384, {3, 1})},
          {pool, conv(192, 1)}};
}

ValueId inception3(Builder& b, ValueId images, int classes) {
  ValueId x = inception_stem(b, images, kInception3Style);
  int index = 0;
  for (const std::vector<Column>& module :
       {module_a(32), module_a(64), module_a(64), module_b(), module_c(128), module_c(160), module_c(160),
        module_c(192), module_d(), module_e(average_pool()), module_e(max_pool())})
    x = inception_module(b, fmt::format("mixed{}", index++), x, kInception3Style, module);
  x = b.average_pool("pool", x, {.kernel = 8, .stride = 1});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> inception3_networks() {
  return {{.name = "inception3",
           .family = "inception",
           .description = "Inception v3 without the auxiliary head",
           .input = {3, 299, 299},
           .classes = 1001,
           .preprocess = "standardise",
           .build = inception3}};
}

}  // namespace trainyard::networks
