#include "networks/generator/network_info.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::Graph;
using graph::ValueId;

constexpr double kSigma = 0.02, kEpsilon = 1e-6;

// The vision transformer of Dosovitskiy et al.: patches become tokens, a trained token goes before them, and
// the classifier reads what becomes of that one.
class Layers {
 public:
  Layers(Builder& builder, const Parameters& parameters)
      : b_(builder),
        width_(parameters.number("width")),
        heads_(parameters.number("heads")),
        hidden_(parameters.number("ffn") == 0 ? 4 * width_ : parameters.number("ffn")),
        patch_(parameters.number("patch")) {}

  // images (N, C, H, W) -> rows (N * (1 + patches), width)
  ValueId embed(ValueId images) {
    const ValueId patches = b_.conv("patches", images,
                                    {.filters = width_,
                                     .kernel = patch_,
                                     .stride = patch_,
                                     .padding = Padding::valid,
                                     .activation = ops::Activation::none,
                                     .init = WeightInit::normal(kSigma)});
    Graph& graph = b_.graph();
    const Shape grid = graph.shape(patches);
    batch_ = grid[0];
    rows_ = {1 + grid[2] * grid[3], true};
    const ValueId pixels = ops::permute(graph, "channels_last", patches, {0, 2, 3, 1});
    const ValueId tokens = ops::reshape(graph, "tokens", pixels, {batch_, rows_.steps - 1, width_});
    const ValueId first_ids = ops::fill(graph, "class_id", {{batch_, 1}, DType::i32}, 0);
    const ValueId first = b_.embedding(
        "class_token", first_ids, {.vocabulary = 1, .width = width_, .init = WeightInit::normal(kSigma)});
    const ValueId all = ops::concat(graph, "with_class_token", {first, tokens}, 1);
    const ValueId rows = ops::reshape(graph, "rows", all, {batch_ * rows_.steps, width_});
    return b_.add_positions(
        "positions", rows, b_.learned_positions("positions", rows_.steps, width_, WeightInit::normal(kSigma)),
        rows_);
  }

  ValueId layer(const std::string& name, ValueId x) {
    const auto scope = b_.scope(name);
    const LayerNormSpec norm{.epsilon = kEpsilon};
    ValueId y = linear("qkv", b_.layer_norm("norm1", x, norm), 3 * width_);
    y = b_.attention("heads", y, {.heads = heads_, .kv_heads = heads_, .rows = rows_, .causal = false});
    x = b_.add("attended", {x, linear("projection", y, width_)});
    y = linear("in", b_.layer_norm("norm2", x, norm), hidden_);
    y = linear("out", b_.smooth_unit("unit", y, {}), width_);
    return b_.add("sum", {x, y});
  }

  // Norms work on rows, so the class tokens alone are enough.
  ValueId logits(ValueId x, int classes) {
    Graph& graph = b_.graph();
    x = ops::reshape(graph, "sequences", x, {batch_, rows_.steps, width_});
    x = ops::slice(graph, "class_tokens", x, {0, 0, 0}, {batch_, 1, width_});
    x = ops::reshape(graph, "class_rows", x, {batch_, width_});
    return b_.logits(b_.layer_norm("norm", x, {.epsilon = kEpsilon}), classes,
                     {.init = WeightInit::normal(kSigma)});
  }

 private:
  ValueId linear(const std::string& name, ValueId x, std::int64_t outputs) {
    return b_.dense(
        name, x,
        {.outputs = outputs, .activation = ops::Activation::none, .init = WeightInit::normal(kSigma)});
  }

  Builder& b_;
  const std::int64_t width_, heads_, hidden_, patch_;
  std::int64_t batch_ = 0;
  ops::SequenceRows rows_;
};

ValueId build_vit(Builder& b, ValueId images, int classes, const Parameters& parameters) {
  Layers layers(b, parameters);
  ValueId x = layers.embed(images);
  for (std::int64_t layer = 1; layer <= parameters.number("layers"); ++layer)
    x = layers.layer(fmt::format("layer{}", layer), x);
  return layers.logits(x, classes);
}

void check(const Parameters& parameters) {
  const std::int64_t image = parameters.number("image"), patch = parameters.number("patch"),
                     width = parameters.number("width"), heads = parameters.number("heads");
  if (image % patch != 0)
    fail(ErrorKind::usage, "{} {}: does not divide {} {}", Setting{"patch"}, patch, Setting{"image"}, image);
  if (width % heads != 0)
    fail(ErrorKind::usage, "{} {}: {} {} is not a whole number for each head", Setting{"heads"}, heads,
         Setting{"width"}, width);
  if (width / heads > ops::kLargestHead)
    fail(ErrorKind::usage, "{} {}: heads of {} numbers in {} {}, at most {} are possible", Setting{"heads"},
         heads, width / heads, Setting{"width"}, width, ops::kLargestHead);
}

Shape input_of(const Parameters& parameters) {
  const std::int64_t side = parameters.number("image");
  return {3, side, side};
}

struct Defaults {
  const char *layers, *width, *heads, *image, *patch;
};

Generator family(const Defaults& own) {
  return {
      .parameters = {{"layers", "layers, each attention and a feed-forward part", own.layers, 1, 256},
                     {"width", "numbers of a token's vector", own.width, 1, 8192},
                     {"heads", "attention heads; they divide the width", own.heads, 1, 256},
                     {"ffn", "hidden units of the feed-forward part; 0: four times the width", "0", 0, 65536},
                     {"image", "rows and columns of an image", own.image, 4, 1024},
                     {"patch", "rows and columns of a patch; it divides the image", own.patch, 1, 64}},
      .check = check,
      .input = input_of,
      .build = build_vit,
      .count = nullptr};
}

struct Row {
  const char *name, *description;
  int classes;
  const char* preprocess;
  Defaults own;
};

const Row kRows[] = {
    {"vit",
     "generated: a vision transformer, by default six layers of 192 on images of 32x32",
     10,
     "cifar-flip",
     {"6", "192", "3", "32", "4"}},
    {"vit_s16",
     "vision transformer, 12 layers of 384, patches of 16x16",
     1000,
     "standardise",
     {"12", "384", "6", "224", "16"}},
    {"vit_b16",
     "vision transformer, 12 layers of 768, patches of 16x16",
     1000,
     "standardise",
     {"12", "768", "12", "224", "16"}},
};

}  // namespace
}  // namespace generator

std::vector<NetworkInfo> vit_networks() {
  static const std::vector<generator::Generator> kGenerators = [] {
    std::vector<generator::Generator> all;
    for (const generator::Row& row : generator::kRows) all.push_back(family(row.own));
    return all;
  }();
  std::vector<NetworkInfo> all;
  for (std::size_t i = 0; i < kGenerators.size(); ++i) {
    const generator::Row& row = generator::kRows[i];
    const std::int64_t side = std::stoll(row.own.image);
    all.push_back({.name = row.name,
                   .family = "vit",
                   .description = row.description,
                   .input = {3, side, side},
                   .classes = row.classes,
                   .preprocess = row.preprocess,
                   .generator = &kGenerators[i]});
  }
  return all;
}

}  // namespace trainyard::networks
