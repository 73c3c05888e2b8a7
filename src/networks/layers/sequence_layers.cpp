#include "networks/layers/layer_builder.h"
#include "ops/shape.h"

namespace trainyard::networks::layers {
namespace {

using graph::ValueId;
using Kind = OptionRow::Kind;

constexpr double kWidest = 1 << 20, kMostSines = 1e8;

ValueId embedding(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::int64_t width = b.whole(layer, "width"), vocabulary = b.classes();
  b.want_weights({vocabulary, width});
  return b.builder().embedding(
      name, x,
      {.vocabulary = vocabulary, .width = width, .init = WeightInit::normal(b.real(layer, "deviation"))});
}

ValueId positions(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  x = b.as_rows(x);
  const std::int64_t steps = b.length(), width = b.shape(x)[1];
  b.want_weights({steps, width});
  const bool learned = b.word(layer, "kind") == "learned";
  // Sines are listed, number by number.
  if (!learned && static_cast<double>(steps) * static_cast<double>(width) > kMostSines)
    fail(ErrorKind::config, "{} sines of {} steps: at most {:g} are possible", width, steps, kMostSines);
  const ValueId table = learned ? b.builder().learned_positions(
                                      name, steps, width, WeightInit::normal(b.real(layer, "deviation")))
                                : b.builder().sinusoidal_positions(name, steps, width);
  return b.new_steps() ? b.builder().add_positions_at(name, x, table, b.new_steps()->places)
                       : b.builder().add_positions(name, x, table, b.sequence());
}

// The type of the layer is that of its cells.
ValueId recurrent(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  if (!b.is_causal())
    fail(ErrorKind::config, "steps see only those before, and masked tokens need those behind");
  if (b.new_steps()) fail(ErrorKind::config, "its state is not kept, as making text token by token needs it");
  x = b.as_steps(x);
  const std::int64_t units = b.whole(layer, "units");
  const ops::RecurrentCell cell = *ops::find_cell(layer.row->name);
  b.want_weights({ops::gates_of(cell), units, std::max(units, b.shape(x)[2])});
  return b.builder().recurrent(name, x, {.cell = cell, .hidden = units});
}

struct Heads {
  std::int64_t width, heads, kv_heads;
  std::int64_t size() const { return width / heads; }
};

Heads heads_of(const LayerBuilder& b, const Layer& layer, ValueId x, bool rotary) {
  Heads heads{b.shape(x)[1], b.whole(layer, "heads"), b.whole(layer, "kv_heads")};
  if (heads.kv_heads == 0) heads.kv_heads = heads.heads;
  if (heads.width % heads.heads != 0)
    fail(ErrorKind::config, "heads {} do not divide {}", heads.heads, b.describe(x));
  if (heads.heads % heads.kv_heads != 0)
    fail(ErrorKind::config, "kv_heads {} do not divide heads {}", heads.kv_heads, heads.heads);
  if (heads.size() > ops::kLargestHead)
    fail(ErrorKind::config, "heads {} of {}: at most {} numbers a head are possible", heads.heads,
         b.describe(x), ops::kLargestHead);
  if (rotary && heads.size() % 2 != 0)
    fail(ErrorKind::config, "rotary: heads of {} numbers, which do not come in pairs", heads.size());
  return heads;
}

// Keys and values of steps before lie in caches, where the layers are those for new steps.
ValueId attended(LayerBuilder& b, const std::string& name, ValueId qkv, const Heads& heads) {
  if (!b.new_steps())
    return b.builder().attention(
        name + "/heads", qkv,
        {.heads = heads.heads, .kv_heads = heads.kv_heads, .rows = b.sequence(), .causal = b.is_causal()});
  const Shape cache{b.shape(b.new_steps()->ids)[1], b.length(), heads.kv_heads * heads.size()};
  const ValueId keys = b.builder().cache(name + "/keys", cache),
                values = b.builder().cache(name + "/values", cache);
  return b.builder().cached_attention(
      name + "/heads", {qkv, keys, values, b.new_steps()->first},
      {.heads = heads.heads, .kv_heads = heads.kv_heads, .steps = b.sequence().steps});
}

ValueId attention(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  x = b.as_rows(x);
  const bool rotary = b.flag(layer, "rotary");
  const Heads heads = heads_of(b, layer, x, rotary);
  const std::int64_t qkv_width = (heads.heads + 2 * heads.kv_heads) * heads.size();
  b.want_weights({qkv_width, heads.width});
  const auto linear = [&](const char* part, ValueId src, std::int64_t outputs) {
    return b.builder().dense(
        name + part, src,
        {.outputs = outputs, .activation = ops::Activation::none, .bias = b.flag(layer, "bias")});
  };
  ValueId qkv = linear("/qkv", x, qkv_width);
  if (rotary)
    qkv = b.builder().rotary(
        name + "/rotary", qkv, b.new_steps() ? b.new_steps()->first : graph::kNone,
        {.heads = heads.heads + heads.kv_heads, .head_size = heads.size(), .rows = b.sequence()});
  return linear("/out", attended(b, name, qkv, heads), heads.width);
}

}  // namespace

std::vector<LayerRow> sequence_layers() {
  const OptionRow units{
      "units", Kind::whole, "numbers of its state, which it makes of each step", OptionRow::kRequired,
      1,       kWidest};
  const auto deviation = [](const char* fallback) {
    return OptionRow{"deviation", Kind::real, "standard deviation of its first weights", fallback, 0, 100};
  };
  return {
      {"embedding",
       "each token becomes a vector",
       kTokens,
       {{"width", Kind::whole, "numbers of a vector", OptionRow::kRequired, 1, kWidest}, deviation("1")},
       embedding},
      {"positions",
       "adds to each step a vector that says its place",
       kSteps,
       {{"kind",
         Kind::word,
         "whether these are trained, or sines",
         "learned",
         1,
         1,
         {"learned", "sinusoidal"}},
        deviation("0.02")},
       positions},
      {"attention",
       "each step looks at those before it, or at all where the input is masked; as wide as what it reads",
       kSteps,
       {{"heads", Kind::whole, "they divide the width", OptionRow::kRequired, 1, 1024},
        {"kv_heads", Kind::whole, "heads of keys and values; 0: as many as heads", "0", 0, 1024},
        {"rotary", Kind::flag, "whether queries and keys are turned by their place", "no"},
        {"bias", Kind::flag, "whether its dense layers have one", "yes"}},
       attention},
      {"lstm", "a recurrent layer of LSTM cells", kSteps, {units}, recurrent},
      {"gru", "a recurrent layer of gated units", kSteps, {units}, recurrent},
      {"rnn", "a recurrent layer with tanh", kSteps, {units}, recurrent},
  };
}

}  // namespace trainyard::networks::layers
