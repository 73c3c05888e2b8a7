#include "networks/families.h"

#include <array>

#include <fmt/core.h>

#include "networks/residual_block.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

ValueId resnet(Builder& b, ValueId images, int classes, bool bottleneck, const std::array<int, 4>& blocks) {
  ValueId x = residual_conv(b, "stem", images,
                            {.filters = 64, .kernel = 7, .stride = 2, .padding = Padding::centred});
  x = b.max_pool("pool", x, {.kernel = 3, .stride = 2, .padding = Padding::same});
  std::int64_t width = 64;
  for (std::size_t group = 0; group < blocks.size(); ++group, width *= 2) {
    const std::int64_t channels = bottleneck ? kBottleneckGrowth * width : width;
    for (int i = 0; i < blocks[group]; ++i) {
      const ResidualBlock block{
          .width = width,
          .stride = group > 0 && i == 0 ? 2 : 1,
          .shortcut = b.channels(x) == channels ? Shortcut::identity : Shortcut::project,
          .stride_on_first = true};
      const std::string name = fmt::format("group{}/block{}", group + 1, i + 1);
      x = bottleneck ? bottleneck_block(b, name, x, block) : basic_block(b, name, x, block);
    }
  }
  return b.logits(b.global_average_pool("spatial_mean", x), classes);
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

}  // namespace trainyard::networks
