#include "networks/families.h"

#include <fmt/core.h>

#include "networks/residual_block.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

// Depth 6n + 2: three groups of n basic blocks. As in the origin the stem has no ReLU, and where the width
// doubles the shortcut is a strided pick with zero channels around it (option A of the paper).
ValueId resnet_cifar(Builder& b, ValueId images, int classes, int blocks) {
  ValueId x =
      residual_conv(b, "stem", images, {.filters = 16, .kernel = 3, .activation = ops::Activation::none});
  std::int64_t width = 16;
  for (int group = 1; group <= 3; ++group, width *= 2)
    for (int i = 1; i <= blocks; ++i) {
      const bool widens = b.channels(x) != width;
      x = basic_block(b, fmt::format("group{}/block{}", group, i), x,
                      {.width = width,
                       .stride = widens ? 2 : 1,
                       .shortcut = widens ? Shortcut::pad_channels : Shortcut::identity,
                       .padding = Padding::same});
    }
  return b.logits(b.global_average_pool("spatial_mean", x), classes);
}

ValueId resnet20(Builder& b, ValueId x, int classes) { return resnet_cifar(b, x, classes, 3); }
ValueId resnet32(Builder& b, ValueId x, int classes) { return resnet_cifar(b, x, classes, 5); }
ValueId resnet44(Builder& b, ValueId x, int classes) { return resnet_cifar(b, x, classes, 7); }
ValueId resnet56(Builder& b, ValueId x, int classes) { return resnet_cifar(b, x, classes, 9); }
ValueId resnet110(Builder& b, ValueId x, int classes) { return resnet_cifar(b, x, classes, 18); }

NetworkInfo resnet_cifar_row(const char* name, const char* description, decltype(NetworkInfo::build) build) {
  return {.name = name,
          .family = "resnet_cifar",
          .description = description,
          .input = {3, 32, 32},
          .classes = 10,
          .preprocess = "cifar-flip",
          .build = build};
}

}  // namespace

std::vector<NetworkInfo> resnet_cifar_networks() {
  return {resnet_cifar_row("resnet20", "ResNet of 20 layers for CIFAR", resnet20),
          resnet_cifar_row("resnet32", "ResNet of 32 layers for CIFAR", resnet32),
          resnet_cifar_row("resnet44", "ResNet of 44 layers for CIFAR", resnet44),
          resnet_cifar_row("resnet56", "ResNet of 56 layers for CIFAR", resnet56),
          resnet_cifar_row("resnet110", "ResNet of 110 layers for CIFAR", resnet110)};
}

}  // namespace trainyard::networks
