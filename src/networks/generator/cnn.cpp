#include "networks/generator/generator.h"

#include "networks/blocks.h"
#include "networks/generator/counts.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::ValueId;
using Wide = LayerCounts::Wide;

ValueId build_cnn(Builder& b, ValueId images, int classes, const Parameters& parameters) {
  const CnnSizes sizes = cnn_sizes(parameters, classes);
  ValueId x = residual_conv(
      b, "stem", images, {.filters = sizes.filters, .kernel = 7, .stride = 2, .padding = Padding::centred});
  x = b.max_pool("pool", x, {.kernel = 3, .stride = 2, .padding = Padding::same});
  std::int64_t width = sizes.filters;
  for (std::size_t group = 0; group < sizes.blocks.size(); ++group, width *= 2)
    for (std::int64_t i = 0; i < sizes.blocks[group]; ++i) {
      const ResidualBlock block{.width = width,
                                .stride = group > 0 && i == 0 ? 2 : 1,
                                .shortcut = i == 0 ? Shortcut::project : Shortcut::identity,
                                .last_gamma = 0};
      const std::string name = fmt::format("group{}/block{}", group + 1, i + 1);
      x = sizes.bottleneck ? bottleneck_block(b, name, x, block) : basic_block(b, name, x, block);
    }
  x = sizes.adaptive ? b.global_average_pool("last_pool", x)
                     : b.average_pool("last_pool", x, {.kernel = kCnnPool, .stride = 1});
  return b.logits(x, classes, {.init = WeightInit::normal(0.01)});
}

std::int64_t halved(std::int64_t side) { return (side + 1) / 2; }

struct ConvSizes {
  std::int64_t kernel, channels, filters, in_side, out_side;
  std::int64_t elements() const { return filters * out_side * out_side; }
};

void count_conv(LayerCounts& layers, const ConvSizes& sizes) {
  layers.conv(sizes.kernel, sizes.channels, sizes.filters, sizes.in_side, sizes.out_side, false);
}

struct Stage {
  std::int64_t channels, side;
};

// Counts the convolution of a shortcut and its norm. The main path comes behind it, and in the backward pass
// before it, with the other part of the gradient of what both read.
void count_projection(LayerCounts& layers, const ConvSizes& sizes) {
  const Wide in = layers.floats(sizes.channels * sizes.in_side * sizes.in_side);
  {
    const LayerCounts::Waiting source(layers, {.backward = in});
    count_conv(layers, sizes);
  }
  const LayerCounts::Waiting source(layers, {.inference = in, .backward = in});
  layers.batch_norm(sizes.filters, sizes.elements());
}

// Counts the convolutions of a main path, each with its norm, and with its ReLU but for the last. Beside them
// waits what will be added to them, of which a shortcut without layers is what the first one reads. Its
// gradient, which is that of the sum, is what the last norm reads.
void count_main_path(LayerCounts& layers, const std::vector<ConvSizes>& convs, bool projected) {
  const Wide other = layers.floats(convs.back().elements());
  LayerCounts::Waits waits{
      .training = projected ? other : 0, .inference = projected ? other : 0, .backward = other};
  for (std::size_t i = 0; i < convs.size(); ++i) {
    const bool is_last = i + 1 == convs.size();
    {
      const LayerCounts::Waiting beside(layers, waits);
      count_conv(layers, convs[i]);
    }
    waits.inference = other;
    if (is_last) waits.backward = 0;
    const LayerCounts::Waiting beside(layers, waits);
    layers.batch_norm(convs[i].filters, convs[i].elements());
    if (!is_last) layers.relu(convs[i].elements());
  }
}

Stage count_block(LayerCounts& layers, bool bottleneck, const Stage& in, std::int64_t width, bool first,
                  bool halves) {
  const Stage out{bottleneck ? kBottleneckGrowth * width : width, halves ? halved(in.side) : in.side};
  const std::int64_t elements = out.channels * out.side * out.side;
  if (first) count_projection(layers, {1, in.channels, out.channels, in.side, out.side});
  if (bottleneck)
    count_main_path(layers,
                    {{1, in.channels, width, in.side, in.side},
                     {3, width, width, in.side, out.side},
                     {1, width, out.channels, out.side, out.side}},
                    first);
  else
    count_main_path(
        layers, {{3, in.channels, width, in.side, out.side}, {3, width, width, out.side, out.side}}, first);
  layers.add(elements, !first);
  layers.relu(elements);
  layers.sum_of_gradients(in.channels * in.side * in.side);  // two ways lead through a block
  return out;
}

Counts count_cnn(const Parameters& parameters, int classes, const CountOptions& options) {
  const CnnSizes sizes = cnn_sizes(parameters, classes);
  const std::int64_t halfway = halved(sizes.image), filters = sizes.filters;
  LayerCounts layers(options);
  layers.input(3 * sizes.image * sizes.image);
  layers.conv(7, 3, filters, sizes.image, halfway, true);
  layers.batch_norm(filters, filters * halfway * halfway);
  layers.relu(filters * halfway * halfway);
  Stage stage{filters, halved(halfway)};
  layers.max_pool(filters * halfway * halfway, filters * stage.side * stage.side);
  for (std::size_t group = 0; group < sizes.blocks.size(); ++group)
    for (std::int64_t i = 0; i < sizes.blocks[group]; ++i)
      stage = count_block(layers, sizes.bottleneck, stage, filters << group, i == 0, group > 0 && i == 0);
  const std::int64_t left = sizes.adaptive ? 1 : stage.side - kCnnPool + 1,
                     features = stage.channels * left * left;
  layers.average_pool(stage.channels * stage.side * stage.side, features);
  layers.logits(features, sizes.classes);
  layers.softmax_cross_entropy(sizes.classes);
  return layers.finish();
}

void check(const Parameters& parameters) {
  const std::int64_t image = parameters.number("image");
  if (parameters.word("pool") == "fixed" && image < kSmallestForThePool)
    fail(ErrorKind::usage, "{0} {1}: network 'cnn' with {2} fixed takes at least {3}; any with {2} adaptive",
         Setting{"image"}, image, Setting{"pool"}, kSmallestForThePool);
}

Shape input_of_cnn(const Parameters& parameters) {
  const std::int64_t image = parameters.number("image");
  return {3, image, image};
}

const Generator kCnn{
    .parameters = {{.name = "block",
                    .about = "residual (3x3, 3x3) or bottleneck (1x1, 3x3, 1x1)",
                    .fallback = "bottleneck",
                    .choices = {"residual", "bottleneck"}},
                   {"blocks", "blocks of each of the four groups, as in 2 or 3,4,6,3", "1", 1, 512, 4},
                   {"filters", "filters of the first group; each further one has twice as many", "16", 1,
                    65536},
                   {"image", "rows and columns of an image", "224", 32, 65536},
                   {.name = "pool",
                    .about = "fixed (7x7, for images of at least 193) or adaptive (the mean of all pixels)",
                    .fallback = "fixed",
                    .choices = {"fixed", "adaptive"}}},
    .check = check,
    .input = input_of_cnn,
    .build = build_cnn,
    .count = count_cnn};

}  // namespace

CnnSizes cnn_sizes(const Parameters& parameters, int classes) {
  CnnSizes sizes{.bottleneck = parameters.word("block") == "bottleneck",
                 .blocks = {},
                 .filters = parameters.number("filters"),
                 .image = parameters.number("image"),
                 .classes = classes,
                 .adaptive = parameters.word("pool") == "adaptive"};
  const std::vector<std::int64_t> blocks = parameters.numbers("blocks");
  std::copy_n(blocks.begin(), sizes.blocks.size(), sizes.blocks.begin());
  return sizes;
}

}  // namespace generator

std::vector<NetworkInfo> cnn_networks() {
  return {
      {.name = "cnn",
       .family = "cnn",
       .description = "generated: a residual network, by default one bottleneck block a group, 16 filters",
       .input = {3, 224, 224},
       .classes = 1000,
       .preprocess = "unit",
       .generator = &generator::kCnn}};
}

}  // namespace trainyard::networks
