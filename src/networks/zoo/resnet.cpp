#include "networks/blocks.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;

ValueId resnet(Builder& b, ValueId images, int classes, bool bottleneck, const std::array<int, 4>& blocks) {
  const ValueId last = residual_groups(b, images, {bottleneck, blocks, true}).back();
  return b.logits(b.global_average_pool("spatial_mean", last), classes);
}

ValueId resnet18(Builder& b, ValueId x, int classes) { return resnet(b, x, classes, false, {2, 2, 2, 2}); }
ValueId resnet34(Builder& b, ValueId x, int classes) { return resnet(b, x, classes, false, {3, 4, 6, 3}); }
ValueId resnet50(Builder& b, ValueId x, int classes) { return resnet(b, x, classes, true, {3, 4, 6, 3}); }
ValueId resnet101(Builder& b, ValueId x, int classes) { return resnet(b, x, classes, true, {3, 4, 23, 3}); }
ValueId resnet152(Builder& b, ValueId x, int classes) { return resnet(b, x, classes, true, {3, 8, 36, 3}); }

NetworkInfo resnet_row(const char* name, const char* description, decltype(NetworkInfo::build) build) {
  return {.name = name,
          .family = "resnet",
          .description = description,
          .input = {3, 224, 224},
          .classes = 1001,
          .preprocess = "standardise",
          .build = build};
}

}  // namespace

std::vector<NetworkInfo> resnet_networks() {
  return {
      resnet_row("resnet18", "ResNet of 18 layers, basic blocks", resnet18),
      resnet_row("resnet34", "ResNet of 34 layers, basic blocks", resnet34),
      resnet_row("resnet50", "ResNet v1 of 50 layers, bottleneck blocks, stride on the first 1x1", resnet50),
      resnet_row("resnet101", "ResNet v1 of 101 layers, bottleneck blocks, stride on the first 1x1",
                 resnet101),
      resnet_row("resnet152", "ResNet v1 of 152 layers, bottleneck blocks, stride on the first 1x1",
                 resnet152)};
}

namespace {

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
