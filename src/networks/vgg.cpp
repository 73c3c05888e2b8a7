#include "networks/families.h"

#include <array>

#include <fmt/core.h>

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId vgg(Builder& b, ValueId images, int classes, const std::array<int, 5>& convolutions) {
  constexpr std::array<std::int64_t, 5> kFilters{64, 128, 256, 512, 512};
  ValueId x = images;
  for (std::size_t group = 0; group < convolutions.size(); ++group) {
    for (int i = 1; i <= convolutions[group]; ++i)
      x = b.conv(fmt::format("conv{}_{}", group + 1, i), x, {.filters = kFilters[group], .kernel = 3});
    x = b.max_pool(fmt::format("pool{}", group + 1), x, {});
  }
  x = b.dense("fc6", x, {.outputs = 4096});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes);
}

ValueId vgg11(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {1, 1, 2, 2, 2}); }
ValueId vgg16(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {2, 2, 3, 3, 3}); }
ValueId vgg19(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {2, 2, 4, 4, 4}); }

NetworkInfo vgg_row(const char* name, const char* description, decltype(NetworkInfo::build) build) {
  return {.name = name,
          .family = "vgg",
          .description = description,
          .input = {3, 224, 224},
          .classes = 1001,
          .preprocess = "standardise",
          .build = build};
}

}  // namespace

std::vector<NetworkInfo> vgg_networks() {
  return {vgg_row("vgg11", "VGG, configuration A: 8 convolutions of 3x3, 3 dense layers", vgg11),
          vgg_row("vgg16", "VGG, configuration D: 13 convolutions of 3x3, 3 dense layers", vgg16),
          vgg_row("vgg19", "VGG, configuration E: 16 convolutions of 3x3, 3 dense layers", vgg19)};
}

}  // namespace trainyard::networks
