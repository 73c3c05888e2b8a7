#include <initializer_list>

#include "base/philox.h"
#include "networks/blocks.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::ValueId;

constexpr std::array<std::int64_t, 10> kSides = {28, 32, 48, 64, 96, 128, 160, 192, 224, 256};
constexpr std::int64_t kLastSide = 8;              // images this small go to the classifier
constexpr std::int64_t kRowsTimesChannels = 1536;  // of a narrow network, so that its stages cost alike
constexpr int kMostStages = 5;
// Repeated names make a block more frequent.
constexpr std::array<const char*, 8> kBlocks = {"plain",     "plain",  "residual", "bottleneck",
                                                "separable", "joined", "columns",  "columns"};
constexpr const char* kAnyBlock = "any";

// Draws random numbers that depend on the network's number alone.
class Dice {
 public:
  explicit Dice(std::int64_t draw) : philox_(static_cast<std::uint64_t>(draw), stream_of("mix")) {}

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(philox_.word(next_++) % static_cast<std::uint32_t>(end));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <typename List>
  auto one_of(const List& list) {
    return *(std::begin(list) + below(static_cast<std::int64_t>(std::size(list))));
  }
  std::int64_t number(std::initializer_list<std::int64_t> list) { return one_of(list); }

 private:
  Philox philox_;
  std::uint64_t next_ = 0;
};

std::int64_t nearest_power_of_two(std::int64_t number) {
  return std::int64_t{1} << std::lround(std::log2(static_cast<double>(number)));
}

// Holds the common settings of one network's layers, and builds its blocks.
class Mixer {
 public:
  Mixer(Builder& builder, Dice& dice, const Parameters& given)
      : b(builder),
        dice_(dice),
        given_(given),
        only_(given.word("only")),
        round_(given.word("channels") == "round") {
    if (!dice_.one_in(4)) style_.norm = NormSpec{};
    if (dice_.one_in(5)) style_.activation = ops::Activation::relu6;
    if (dice_.one_in(8)) style_.activation = ops::Activation::leaky_relu;
  }

  ValueId stem(ValueId x, std::int64_t side) {
    ConvSpec spec = style_;
    spec.kernel = unless_given("stem", dice_.number({3, 3, 5, 7, 11}));
    spec.stride = unless_given("stride", side > 200 ? dice_.number({2, 2, 4}) : side > 90 ? 2 : 1);
    spec.filters = channels_near(side > 90 ? 32 : 48);
    if (dice_.one_in(3)) spec.padding = Padding::valid;
    return b.conv("stem", x, spec);
  }

  ValueId block(const std::string& name, ValueId x, std::int64_t width) {
    const std::string drawn = kBlocks[static_cast<std::size_t>(dice_.below(kBlocks.size()))];
    const std::string& kind = only_ == kAnyBlock ? drawn : only_;
    if (kind == "plain") return plain(name, x, width);
    if (kind == "residual") return basic_block(b, name, x, residual(x, width, width));
    if (kind == "bottleneck")
      return bottleneck_block(b, name, x, residual(x, std::max<std::int64_t>(width / 2, 4), width * 2));
    if (kind == "separable") return separable(name, x, width);
    return kind == "joined" ? densely_joined(name, x, width) : columns(name, x, width);
  }

  // Halves the number of rows and columns.
  ValueId halve(const std::string& name, ValueId x) {
    const PoolSpec window{.kernel = dice_.number({2, 3, 3}),
                          .padding = dice_.one_in(2) ? Padding::same : Padding::valid};
    switch (dice_.below(4)) {
      case 0:
        return b.average_pool(name, x, window);
      case 1:
        return conv(name, x, channels_near(2 * b.channels(x)), 3, 2);
      default:
        return b.max_pool(name, x, window);
    }
  }

  ValueId classifier(ValueId x) {
    if (!dice_.one_in(4)) x = b.global_average_pool("mean", x);
    for (std::int64_t i = 0, layers = dice_.number({0, 0, 1, 2}); i < layers; ++i) {
      x = b.dense(fmt::format("dense{}", i + 1), x, {.outputs = channels_near(1024)});
      if (dice_.one_in(2)) x = b.dropout(fmt::format("dropout{}", i + 1), x, 0.5);
    }
    return x;
  }

  // Returns the width of a block on images of this many rows.
  std::int64_t width(std::int64_t breadth, std::int64_t rows) const {
    const std::int64_t least = 12, most = round_ ? 1024 : 512,
                       wide = std::clamp(breadth * kRowsTimesChannels / rows, least, most);
    return round_ ? nearest_power_of_two(wide) : wide;
  }

  // Returns the random value unless the parameter was given. The value is drawn in any case, so that the rest
  // does not change.
  std::int64_t unless_given(const char* name, std::int64_t drawn) const {
    const std::int64_t given = given_.number(name);
    return given > 0 ? given : drawn;
  }

  Builder& b;

 private:
  // Returns a random number about `middle`, from half of it to twice it: any number, most often a multiple of
  // 16, or one that people choose.
  std::int64_t channels_near(std::int64_t middle) {
    if (round_)
      return std::max<std::int64_t>(nearest_power_of_two(middle) * dice_.number({2, 4, 4, 4, 6, 8}) / 4, 4);
    const std::int64_t step = dice_.number({16, 16, 16, 8, 4, 1});
    const std::int64_t wanted = middle / 2 + dice_.below(middle + middle / 2);
    return std::max((wanted + step / 2) / step * step, step);
  }

  ValueId conv(const std::string& name, ValueId x, std::int64_t filters, Kernel kernel,
               std::int64_t stride = 1) {
    ConvSpec spec = style_;
    spec.filters = filters;
    spec.kernel = kernel;
    spec.stride = stride;
    return b.conv(name, x, spec);
  }

  ValueId plain(const std::string& name, ValueId x, std::int64_t width) {
    x = conv(name, x, channels_near(width), dice_.number({1, 3, 3, 3, 5}));
    return dice_.one_in(12) ? b.lrn(name + "/lrn", x, {}) : x;
  }

  ResidualBlock residual(ValueId x, std::int64_t width, std::int64_t out) const {
    const std::int64_t made = out == width ? width : kBottleneckGrowth * width;
    return {.width = width, .shortcut = b.channels(x) == made ? Shortcut::identity : Shortcut::project};
  }

  ValueId separable(const std::string& name, ValueId x, std::int64_t width) {
    ConvSpec depthwise = style_;
    depthwise.kernel = dice_.number({3, 3, 5});
    depthwise.filters = depthwise.groups = b.channels(x);
    depthwise.stride = dice_.one_in(4) ? 2 : 1;
    x = b.conv(name + "/depthwise", x, depthwise);
    return conv(name + "/pointwise", x, channels_near(width), 1);
  }

  // Layers that each add few channels to all before them, normed first, as in DenseNet.
  ValueId densely_joined(const std::string& name, ValueId x, std::int64_t width) {
    const std::int64_t growth = std::max<std::int64_t>(channels_near(width / 4), 4);
    for (std::int64_t i = 0, layers = 2 + dice_.below(4); i < layers; ++i) {
      const std::string layer = fmt::format("{}/layer{}", name, i + 1);
      ValueId made = b.relu(layer + "/relu", b.batch_norm(layer + "/norm", x, {}));
      made = b.conv(layer, made,
                    {.filters = growth, .kernel = 3, .bias = false, .activation = ops::Activation::none});
      x = b.concat(layer + "/join", {x, made});
    }
    return x;
  }

  ValueId columns(const std::string& name, ValueId x, std::int64_t width) {
    std::vector<Column> columns{{networks::conv(channels_near(width / 2), 1)}};
    for (std::int64_t i = 0, more = 1 + dice_.below(3); i < more; ++i) {
      const std::int64_t inner = channels_near(width / 2), outer = channels_near(width / 2);
      switch (dice_.below(5)) {
        case 0:
          columns.push_back({networks::conv(inner, 1), networks::conv(outer, 5)});
          break;
        case 1: {
          const std::int64_t length = dice_.number({3, 7});
          columns.push_back({networks::conv(inner, 1), networks::conv(inner, Kernel(1, length)),
                             networks::conv(outer, Kernel(length, 1))});
          break;
        }
        case 2:
          columns.push_back(
              {dice_.one_in(2) ? networks::max_pool() : networks::average_pool(), networks::conv(outer, 1)});
          break;
        default:
          columns.push_back({networks::conv(inner, 1), networks::conv(outer, 3)});
      }
    }
    return inception_module(b, name, x, style_, columns);
  }

  Dice& dice_;
  const Parameters& given_;
  const std::string only_;  // one of kBlocks, or kAnyBlock
  const bool round_;        // channels are powers of two, or half as many again
  ConvSpec style_;
};

std::int64_t side_of(Dice& dice, const Parameters& given) {
  const std::int64_t drawn = dice.one_of(kSides);
  return given.number("side") > 0 ? given.number("side") : drawn;
}

ValueId build_mix(Builder& builder, ValueId images, int classes, const Parameters& parameters) {
  Dice dice(parameters.number("draw"));
  const std::int64_t side = side_of(dice, parameters);
  Mixer mixer(builder, dice, parameters);
  ValueId x = mixer.stem(images, side);
  const auto rows = [&] { return builder.graph().shape(x)[2]; };
  const std::int64_t breadth = mixer.unless_given("breadth", dice.number({1, 1, 1, 1, 2, 2, 3, 5}));
  for (int stage = 1; stage <= kMostStages; ++stage) {
    const std::int64_t width = mixer.width(breadth, rows());
    for (std::int64_t i = 0, blocks = mixer.unless_given("depth", 1 + dice.below(3)); i < blocks; ++i)
      x = mixer.block(fmt::format("stage{}/block{}", stage, i + 1), x, width);
    if (rows() <= kLastSide) break;
    x = mixer.halve(fmt::format("stage{}/halve", stage), x);
  }
  return builder.logits(mixer.classifier(x), classes);
}

Shape input_of_mix(const Parameters& parameters) {
  Dice dice(parameters.number("draw"));
  const std::int64_t side = side_of(dice, parameters);
  return {parameters.number("colours"), side, side};
}

const Generator kMix{
    .parameters = {{"draw", "number of the network; another one, another network", "1", 1, 1'000'000'000},
                   {"breadth", "channels, as multiples of a narrow network's; 0: random", "0", 0, 16},
                   {"side", "rows and columns of images; 0: random", "0", 0, 512},
                   {"colours", "channels of images", "3", 1, 4},
                   {"stem", "rows and columns of the first window; 0: random", "0", 0, 11},
                   {"stride", "of the first window; 0: random", "0", 0, 4},
                   {"depth", "blocks between two halvings of the image; 0: random", "0", 0, 64},
                   {.name = "channels",
                    .about = "any numbers of them, or round ones: powers of two, and half as many again",
                    .fallback = "any",
                    .choices = {"any", "round"}},
                   {.name = "only",
                    .about = "its blocks are of this kind",
                    .fallback = "any",
                    .choices = {"any", "plain", "residual", "bottleneck", "separable", "joined", "columns"}}},
    .input = input_of_mix,
    .build = build_mix,
    .count = nullptr};

}  // namespace
}  // namespace generator

std::vector<NetworkInfo> mix_networks() {
  return {{.name = "mix",
           .family = "mix",
           .description =
               "generated: blocks of all kinds, sizes and layers at random; the parameter draw says which",
           .input = {3, 64, 64},
           .classes = 1000,
           .preprocess = "unit",
           .generator = &generator::kMix}};
}

}  // namespace trainyard::networks
