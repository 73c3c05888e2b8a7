#include "networks/blocks.h"
#include "networks/generator/network_info.h"
#include "ops/detection.h"

// RetinaNet (Lin et al., Focal Loss for Dense Object Detection, 2017) on a feature pyramid (Lin et al.,
// 2017).
namespace trainyard::networks {

namespace {

using graph::ValueId;
using ops::Activation;

constexpr std::int64_t kWidth = 256;         // of the pyramid and the subnets
constexpr std::int64_t kLargestStride = 32;  // of the groups of a ResNet
constexpr int kLevels = 5, kSubnetLayers = 4;
constexpr double kPrior = 0.01;  // of an object, which an anchor says at first
using Levels = std::array<ValueId, kLevels>;

ConvSpec plain_conv(std::int64_t kernel, std::int64_t stride = 1) {
  return {.filters = kWidth,
          .kernel = kernel,
          .stride = stride,
          .padding = Padding::centred,
          .activation = Activation::none,
          .init = WeightInit::xavier_uniform()};
}

// Levels 3 to 7: each cell is 2^level pixels high and wide.
Levels pyramid(Builder& b, const std::array<ValueId, 4>& groups) {
  const auto scope = b.scope("pyramid");
  Levels levels{};
  ValueId above = graph::kNone;
  for (int i = 2; i >= 0; --i) {
    ValueId x =
        b.conv(fmt::format("lateral{}", i + 3), groups[static_cast<std::size_t>(i) + 1], plain_conv(1));
    if (above != graph::kNone)
      x = b.add(fmt::format("sum{}", i + 3), {x, b.upsample(fmt::format("upsample{}", i + 3), above)});
    above = x;
    levels[static_cast<std::size_t>(i)] = b.conv(fmt::format("level{}", i + 3), x, plain_conv(3));
  }
  levels[3] = b.conv("level6", groups[3], plain_conv(3, 2));
  levels[4] = b.conv("level7", b.relu("relu6", levels[3]), plain_conv(3, 2));
  return levels;
}

// Four layers on every level and then `last`, all with the weights of the first level; `said` are its rows.
ValueId subnet(Builder& b, const char* name, const char* said, const Levels& levels, const ConvSpec& last) {
  std::vector<ValueId> numbers;
  const auto scope = b.scope(name);
  for (ValueId x : levels) {
    ConvSpec spec = plain_conv(3);
    spec.activation = Activation::relu;
    spec.init = WeightInit::normal(0.01);
    spec.shared = !numbers.empty();
    for (int layer = 1; layer <= kSubnetLayers; ++layer) x = b.conv(fmt::format("conv{}", layer), x, spec);
    ConvSpec out = last;
    out.shared = spec.shared;
    numbers.push_back(b.conv(said, x, out));
  }
  return ops::anchor_rows(b.graph(), said, numbers);
}

ConvSpec last_of(std::int64_t numbers, double first_bias) {
  return {.filters = ops::Anchors::kShapes * numbers,
          .kernel = 3,
          .padding = Padding::centred,
          .first_bias = first_bias,
          .activation = Activation::none,
          .init = WeightInit::normal(0.01)};
}

Detection retinanet(Builder& b, ValueId images, int classes) {
  const Shape image = b.graph().shape(images);
  if (image[2] % kLargestStride != 0 || image[3] % kLargestStride != 0)
    fail(ErrorKind::usage, "network 'retinanet': images of {}, and {} has to divide their rows and columns",
         image.to_string(), kLargestStride);
  const Levels levels = pyramid(b, residual_groups(b, images, {}));
  Detection made{};
  made.anchors.levels = kLevels;
  for (int i = 0; i < kLevels; ++i) {
    const Shape level = b.graph().shape(levels[static_cast<std::size_t>(i)]);
    made.anchors.level[i] = {level[2], level[3], std::int64_t{8} << i};
  }
  made.logits = subnet(b, "classes", "logits", levels, last_of(classes, -std::log((1 - kPrior) / kPrior)));
  made.offsets = subnet(b, "boxes", "offsets", levels, last_of(4, 0));
  return made;
}

}  // namespace

std::vector<NetworkInfo> retinanet_networks() {
  return {{.name = "retinanet",
           .family = "retinanet",
           .description = "RetinaNet: objects found by ResNet-50 with a feature pyramid, 9 anchors a cell",
           .input = {3, 640, 640},
           .classes = 80,
           .preprocess = "unit",
           .detect = retinanet}};
}

}  // namespace trainyard::networks
