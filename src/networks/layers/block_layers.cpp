#include "networks/layers/activations.h"
#include "networks/layers/layer_builder.h"
#include "ops/broadcast.h"
#include "ops/shape.h"

namespace trainyard::networks::layers {
namespace {

using graph::ValueId;
using Kind = OptionRow::Kind;

constexpr double kMostTimes = LayerBuilder::kMostLayers;

// What each branch of a block makes, rows of steps joined with rows.
std::vector<ValueId> ends_of(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::string prefix = layer.name.empty() ? "" : layer.name;
  std::vector<ValueId> ends;
  for (const Branch& branch : layer.branches.find("branches")->second)
    ends.push_back(b.as_rows(b.branch_of(prefix, branch, x)));
  if (ends.size() < 2)
    fail(ErrorKind::config, "{}: two branches or more expected, {} given", name, ends.size());
  return ends;
}

std::string described(const LayerBuilder& b, const std::vector<ValueId>& ends) {
  std::string text;
  for (const ValueId end : ends) text += (text.empty() ? "" : ", ") + b.describe(end);
  return text;
}

ValueId residual(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const auto branch = [&](const char* option) -> const Branch& {
    return layer.branches.find(option)->second.front();
  };
  const Activating activating(b.word(layer, "activation"));
  const ValueId beside =
      b.as_rows(b.is_given(layer, "shortcut") ? b.branch_of(layer.name, branch("shortcut"), x) : x);
  const ValueId made = b.as_rows(b.branch_of(layer.name, branch("layers"), x));
  if (!(b.shape(beside) == b.shape(made)))
    fail(ErrorKind::config, "its layers make {}, and its shortcut {}", b.describe(made), b.describe(beside));
  return activating.apply(b.builder(), name + "/activation", b.builder().add(name, {beside, made}));
}

ValueId add(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::vector<ValueId> ends = ends_of(b, layer, name, x);
  for (const ValueId end : ends)
    if (!(b.shape(end) == b.shape(ends.front())))
      fail(ErrorKind::config, "its branches make {}: alike ones expected", described(b, ends));
  return b.builder().add(name, ends);
}

ValueId concat(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::vector<ValueId> ends = ends_of(b, layer, name, x);
  for (const ValueId end : ends) {
    Shape alike = b.shape(end);
    const bool same_rank = alike.rank() == b.shape(ends.front()).rank();
    if (same_rank) alike[1] = b.shape(ends.front())[1];
    if (!same_rank || !(alike == b.shape(ends.front())))
      fail(ErrorKind::config, "its branches make {}: only channels, or numbers, may differ",
           described(b, ends));
  }
  return b.builder().concat(name, ends);
}

// One number for each channel of an image counts for all its pixels.
ValueId multiply(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::vector<ValueId> ends = ends_of(b, layer, name, x);
  ValueId product = ends.front();
  const Shape whole = b.shape(product);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    ValueId factor = ends[i];
    const Shape own = b.shape(factor);
    const bool of_channels = whole.rank() == 4 && own[1] == whole[1] &&
                             (own.rank() == 2 || (own.rank() == 4 && own[2] == 1 && own[3] == 1));
    if (!(own == whole) && !of_channels)
      fail(ErrorKind::config, "its branches make {}: alike ones, or one number for each channel, expected",
           described(b, ends));
    if (!(own == whole)) {
      if (own.rank() == 2)
        factor = ops::reshape(b.graph(), name + "/of_channels", factor, {own[0], own[1], 1, 1});
      factor = ops::repeat(b.graph(), name + "/of_pixels", factor, whole);
    }
    product = ops::multiply(b.graph(), name, product, factor);
  }
  return product;
}

ValueId repeat(LayerBuilder& b, const Layer& layer, const std::string&, ValueId x) {
  const std::int64_t times = b.whole(layer, "times"), first = b.whole(layer, "first");
  for (std::int64_t i = first; i < first + times; ++i)
    x = b.branch_of(layer.name.empty() ? "" : fmt::format("{}{}", layer.name, i),
                    layer.branches.find("layers")->second.front(), x);
  return x;
}

}  // namespace

std::vector<LayerRow> block_layers() {
  const unsigned takes = kNumbers;
  const OptionRow branches{"branches", Kind::branches,
                           "lists of layers, or names of layers before; [] is what the block reads"};
  const OptionRow layers{"layers", Kind::layers, "a list of layers"};
  return {
      {"residual",
       "the sum of what its layers make and of what they read",
       takes,
       {layers,
        {"shortcut", Kind::layers, "layers for what they read, where the shapes differ", ""},
        {"activation", Kind::word, "behind the sum", "none", 1, 1, Activating::words()}},
       residual,
       true},
      {"add", "the sum of several branches", takes, {branches}, add, true},
      {"concat", "channels, or numbers, of several branches side by side", takes, {branches}, concat, true},
      {"multiply",
       "the product of several branches, number by number; those behind the first may have one for each "
       "channel",
       takes,
       {branches},
       multiply,
       true},
      {"repeat",
       "layers several times; a name, with the number of the time, goes before theirs",
       takes,
       {layers,
        {"times", Kind::whole, "how often", OptionRow::kRequired, 0, kMostTimes},
        {"first", Kind::whole, "number of the first time, in names", "1", 0, kMostTimes}},
       repeat,
       true},
  };
}

}  // namespace trainyard::networks::layers
