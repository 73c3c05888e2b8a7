#include "networks/generator/generator.h"
#include "networks/generator/network_info.h"
#include "ops/shape.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::ValueId;
using Sizes = TransformerSizes;
using Unit = Sizes::Unit;
using Positions = Sizes::Positions;

constexpr std::array<const char*, 5> kUnits = {"relu", "gelu", "gelu_tanh", "silu", "swiglu"};
constexpr std::array<const char*, 4> kPositions = {"learned", "sinusoidal", "rotary", "none"};
constexpr double kSigma = 0.02;  // of first weights, as GPT-2 has them

// Returns the place of the given word among the names of an enumeration.
template <typename Enum, typename Names>
Enum chosen(const Parameters& parameters, const char* name, const Names& names) {
  const auto found = std::find(names.begin(), names.end(), parameters.word(name));
  TRAINYARD_CHECK(found != names.end());
  return static_cast<Enum>(found - names.begin());
}

bool is_yes(const Parameters& parameters, const char* name) { return parameters.word(name) == "yes"; }

// Layers builds the parts of one network: for whole sequences, or for new steps behind those of the caches.
class Layers {
 public:
  Layers(Builder& builder, const Sizes& sizes) : b_(builder), sizes_(sizes), rows_{sizes.length} {}
  Layers(Builder& builder, const Sizes& sizes, const NewSteps& input)
      : b_(builder), sizes_(sizes), rows_{builder.graph().shape(input.ids)[0]}, new_steps_(input) {}

  // ids (i32 steps, N) -> rows (steps * N, width)
  ValueId embed(ValueId ids) {
    const ValueId rows = with_positions(ids);
    return sizes_.post_norm ? b_.layer_norm("embedding_norm", rows, norm()) : rows;
  }

  ValueId layer(const std::string& name, ValueId x) {
    const auto scope = b_.scope(name);
    if (sizes_.post_norm) {
      x = b_.layer_norm("norm1", b_.add("attended", {x, attention(x)}), norm());
      return b_.layer_norm("norm2", b_.add("out", {x, feed_forward(x)}), norm());
    }
    x = b_.add("attended", {x, attention(b_.layer_norm("norm1", x, norm()))});
    return b_.add("out", {x, feed_forward(b_.layer_norm("norm2", x, norm()))});
  }

  ValueId logits(ValueId x) {
    if (!sizes_.post_norm) x = b_.layer_norm("norm", x, norm());
    if (sizes_.transforms) x = transform(x);
    DenseSpec spec{.init = WeightInit::normal(kSigma), .bias = sizes_.transforms};
    if (sizes_.tied) spec.weight = b_.weight_of("embedding");
    return b_.logits(x, static_cast<int>(sizes_.vocabulary), spec);
  }

 private:
  LayerNormSpec norm() const { return {.centred = !sizes_.rms_norm}; }

  ValueId with_positions(ValueId ids) {
    const ValueId x = b_.embedding(
        "embedding", ids,
        {.vocabulary = sizes_.vocabulary, .width = sizes_.width, .init = WeightInit::normal(kSigma)});
    const Shape shape = b_.graph().shape(x);
    const ValueId rows = ops::reshape(b_.graph(), "steps", x, {shape[0] * shape[1], shape[2]});
    if (sizes_.positions == Positions::rotary || sizes_.positions == Positions::none) return rows;
    const ValueId table =
        sizes_.positions == Positions::learned
            ? b_.learned_positions("positions", sizes_.length, sizes_.width, WeightInit::normal(kSigma))
            : b_.sinusoidal_positions("positions", sizes_.length, sizes_.width);
    return new_steps_ ? b_.add_positions_at("positions", rows, table, new_steps_->places)
                      : b_.add_positions("positions", rows, table, rows_);
  }

  ValueId linear(const std::string& name, ValueId x, std::int64_t outputs, double sigma = kSigma) {
    return b_.dense(name, x,
                    {.outputs = outputs,
                     .activation = ops::Activation::none,
                     .init = WeightInit::normal(sigma),
                     .bias = sizes_.bias});
  }

  // The parts that add to the stream start smaller, so that its variance does not grow with the layers. Where
  // a norm is behind each sum, it does not grow.
  double sigma_of_sums() const {
    return sizes_.post_norm ? kSigma : kSigma / std::sqrt(2.0 * static_cast<double>(sizes_.layers));
  }

  ValueId attention(ValueId x) {
    const auto scope = b_.scope("attention");
    ValueId qkv = linear("qkv", x, sizes_.qkv_width());
    if (sizes_.positions == Positions::rotary)
      qkv = b_.rotary(
          "rotary", qkv, new_steps_ ? new_steps_->first : graph::kNone,
          {.heads = sizes_.heads + sizes_.kv_heads, .head_size = sizes_.head_size(), .rows = rows_});
    x = new_steps_ ? attention_on_caches(qkv)
                   : b_.attention("heads", qkv,
                                  {.heads = sizes_.heads,
                                   .kv_heads = sizes_.kv_heads,
                                   .rows = rows_,
                                   .causal = sizes_.causal});
    return linear("out", x, sizes_.width, sigma_of_sums());
  }

  ValueId attention_on_caches(ValueId qkv) {
    const std::int64_t batch = b_.graph().shape(new_steps_->ids)[1];
    const Shape cache{batch, sizes_.length, sizes_.kv_heads * sizes_.head_size()};
    const ValueId keys = b_.cache("keys", cache), values = b_.cache("values", cache);
    return b_.cached_attention("heads", {qkv, keys, values, new_steps_->first},
                               {.heads = sizes_.heads, .kv_heads = sizes_.kv_heads, .steps = rows_.steps});
  }

  ValueId feed_forward(ValueId x) {
    const auto scope = b_.scope("feed_forward");
    if (sizes_.routes()) return experts(x);
    x = linear("in", x, sizes_.gated() ? 2 * sizes_.hidden : sizes_.hidden);
    return linear("out", unit(x), sizes_.width, sigma_of_sums());
  }

  ValueId experts(ValueId x) {
    const auto of_each = [&](const std::string& name, ValueId rows, const ops::Routed& routed,
                             std::int64_t outputs, double sigma) {
      return b_.grouped_dense(name, rows, routed,
                              {.outputs = outputs, .init = WeightInit::normal(sigma), .bias = sizes_.bias});
    };
    const ops::Routed routed = b_.route("router", x,
                                        {.experts = sizes_.experts,
                                         .choices = sizes_.choices,
                                         .balance = sizes_.balance,
                                         .init = WeightInit::normal(kSigma)});
    x = b_.dispatch("dispatch", x, routed);
    x = of_each("in", x, routed, sizes_.gated() ? 2 * sizes_.hidden : sizes_.hidden, kSigma);
    x = of_each("out", unit(x), routed, sizes_.width, sigma_of_sums());
    return b_.combine("combine", x, routed);
  }

  ValueId transform(ValueId x) {
    const auto scope = b_.scope("transform");
    x = b_.smooth_unit("unit", linear("in", x, sizes_.width), {ops::SmoothKind::gelu});
    return b_.layer_norm("norm", x, norm());
  }

  ValueId unit(ValueId x) {
    switch (sizes_.unit) {
      case Unit::relu:
        return b_.relu("unit", x);
      case Unit::gelu:
        return b_.smooth_unit("unit", x, {ops::SmoothKind::gelu});
      case Unit::gelu_tanh:
        return b_.smooth_unit("unit", x, {ops::SmoothKind::gelu_tanh});
      case Unit::silu:
        return b_.smooth_unit("unit", x, {ops::SmoothKind::silu});
      case Unit::swiglu:
        return b_.smooth_unit("unit", x, {ops::SmoothKind::silu, true});
    }
    return x;
  }

  Builder& b_;
  const Sizes sizes_;
  const ops::SequenceRows rows_;
  const std::optional<NewSteps> new_steps_;
};

ValueId build_transformer(Builder& b, ValueId ids, int, const Parameters& parameters) {
  const Sizes sizes = transformer_sizes(parameters);
  Layers layers(b, sizes);
  ValueId x = layers.embed(ids);
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer)
    x = layers.layer(fmt::format("layer{}", layer), x);
  return layers.logits(x);
}

ValueId decode(Builder& b, const NewSteps& input, const Parameters& parameters) {
  const Sizes sizes = transformer_sizes(parameters);
  if (!sizes.causal)
    fail(ErrorKind::usage, "{} no: a network that sees the steps behind makes no text", Setting{"causal"});
  Layers layers(b, sizes, input);
  ValueId x = layers.embed(input.ids);
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer)
    x = layers.layer(fmt::format("layer{}", layer), x);
  const Shape ids = b.graph().shape(input.ids);
  x = ops::slice(b.graph(), "last_step", x, {(ids[0] - 1) * ids[1], 0}, {ids[1], sizes.width});
  return layers.logits(x);
}

void check(const Parameters& parameters) {
  const Sizes sizes = transformer_sizes(parameters);
  if (sizes.width % sizes.heads != 0)
    fail(ErrorKind::usage, "{} {}: {} {} is not a whole number for each head", Setting{"heads"}, sizes.heads,
         Setting{"width"}, sizes.width);
  if (sizes.heads % sizes.kv_heads != 0)
    fail(ErrorKind::usage, "{} {}: does not divide {} {}", Setting{"kv_heads"}, sizes.kv_heads,
         Setting{"heads"}, sizes.heads);
  if (sizes.head_size() > ops::kLargestHead)
    fail(ErrorKind::usage, "{} {}: heads of {} numbers in {} {}, at most {} are possible", Setting{"heads"},
         sizes.heads, sizes.head_size(), Setting{"width"}, sizes.width, ops::kLargestHead);
  if (sizes.positions == Positions::rotary && sizes.head_size() % 2 != 0)
    fail(ErrorKind::usage, "{} rotary: heads of {} numbers, which do not come in pairs", Setting{"positions"},
         sizes.head_size());
  if (const std::int64_t top_k = parameters.number("top_k"); top_k > std::max<std::int64_t>(sizes.experts, 1))
    fail(ErrorKind::usage, "{} {}: above {} {}", Setting{"top_k"}, top_k, Setting{"experts"}, sizes.experts);
}

Shape input_of(const Parameters& parameters) { return {parameters.number("length")}; }

SequenceSizes sequence(const Parameters& parameters) {
  return {parameters.number("length"), parameters.number("vocabulary"), !is_yes(parameters, "causal")};
}

// The values that one named transformer has where none are given.
struct Defaults {
  const char *layers, *width, *heads, *kv_heads, *ffn, *length, *vocabulary;
  const char *norm = "layer", *activation = "gelu_tanh", *positions = "learned", *bias = "yes", *tied = "yes";
  const char* experts = "0";
  const char *causal = "yes", *norm_place = "pre", *head = "linear";
};

Generator family(const Defaults& own) {
  const std::vector<std::string> yes_no{"yes", "no"};
  return {
      .parameters =
          {{"layers", "layers, each attention and a feed-forward part", own.layers, 1, 4096},
           {"width", "numbers of a token's vector", own.width, 1, 65536},
           {"heads", "attention heads; they divide the width", own.heads, 1, 1024},
           {"kv_heads", "heads of keys and values, each shared by as many heads; 0: as many as heads",
            own.kv_heads, 0, 1024},
           {"ffn", "hidden units of the feed-forward part; 0: four times the width", own.ffn, 0, 262144},
           {"length", "steps of a sequence", own.length, 1, 65536},
           {"vocabulary", "different tokens", own.vocabulary, 2, std::int64_t{1} << 24},
           {.name = "causal",
            .about = "whether steps see only those before, and say the next token; else they say masked ones",
            .fallback = own.causal,
            .choices = yes_no},
           {.name = "norm", .about = "layer or rms", .fallback = own.norm, .choices = {"layer", "rms"}},
           {.name = "norm_place",
            .about = "before each part of a layer, or behind its sum",
            .fallback = own.norm_place,
            .choices = {"pre", "post"}},
           {.name = "activation",
            .about = "of the feed-forward part; swiglu is gated",
            .fallback = own.activation,
            .choices = {kUnits.begin(), kUnits.end()}},
           {.name = "positions",
            .about = "how steps know their place",
            .fallback = own.positions,
            .choices = {kPositions.begin(), kPositions.end()}},
           {.name = "bias",
            .about = "whether linear layers have one",
            .fallback = own.bias,
            .choices = yes_no},
           {.name = "tied",
            .about = "whether the last layer's weight is the embedding",
            .fallback = own.tied,
            .choices = yes_no},
           {.name = "head",
            .about = "the last layer alone; or before it a dense layer, GELU and a norm, and in it a bias",
            .fallback = own.head,
            .choices = {"linear", "transform"}},
           {"experts",
            "experts of the feed-forward part, of which each token takes some; 0 or 1: one part for all "
            "tokens",
            own.experts, 0, ops::kMostExperts},
           {"top_k", "experts that each token takes, those of its highest scores; 0: two", "0", 0,
            ops::kMostExperts},
           {.name = "balance",
            .about = "weight in the loss of the penalty on experts that are used more than others",
            .fallback = "0.01",
            .smallest = 0,
            .largest = 1000,
            .is_fraction = true}},
      .check = check,
      .input = input_of,
      .build = build_transformer,
      .count = count_transformer,
      .sequence = sequence,
      .decode = decode};
}

// One network and the values it has.
struct Row {
  const char *name, *description;
  Defaults own;
};

const Row kRows[] = {
    {"transformer",
     "generated: a transformer language model, by default four layers of 128",
     {"4", "128", "4", "0", "0", "64", "1024"}},
    {"gpt_char", "six layers of 384 on bytes", {"6", "384", "6", "0", "0", "256", "256"}},
    {"gpt_moe",
     "gpt_char with four experts in each layer, of which each token takes two",
     {"6", "384", "6", "0", "0", "256", "256", "layer", "gelu_tanh", "learned", "yes", "yes", "4"}},
    {"gpt2", "GPT-2 with 124 M parameters", {"12", "768", "12", "0", "0", "1024", "50257"}},
    {"gpt2_medium", "GPT-2 with 355 M parameters", {"24", "1024", "16", "0", "0", "1024", "50257"}},
    {"gpt2_large", "GPT-2 with 774 M parameters", {"36", "1280", "20", "0", "0", "1024", "50257"}},
    {"gpt2_xl", "GPT-2 with 1.5 G parameters", {"48", "1600", "25", "0", "0", "1024", "50257"}},
    {"tiny_llama",
     "TinyLlama with 1.1 G parameters: RMS norm, rotary positions, SwiGLU, four heads of keys and values",
     {"22", "2048", "32", "4", "5632", "2048", "32000", "rms", "swiglu", "rotary", "no", "no"}},
    {"bert_base",
     "BERT-base with 109.5 M parameters: an encoder with norms behind sums, asked for masked tokens",
     {"12", "768", "12", "0", "0", "512", "30522", "layer", "gelu", "learned", "yes", "yes", "0", "no",
      "post", "transform"}},
};

}  // namespace

TransformerSizes transformer_sizes(const Parameters& parameters) {
  const std::int64_t width = parameters.number("width"), heads = parameters.number("heads"),
                     kv_heads = parameters.number("kv_heads"), ffn = parameters.number("ffn"),
                     experts = parameters.number("experts"), top_k = parameters.number("top_k");
  return {.layers = parameters.number("layers"),
          .width = width,
          .heads = heads,
          .kv_heads = kv_heads == 0 ? heads : kv_heads,
          .hidden = ffn == 0 ? 4 * width : ffn,
          .length = parameters.number("length"),
          .vocabulary = parameters.number("vocabulary"),
          .causal = is_yes(parameters, "causal"),
          .rms_norm = parameters.word("norm") == "rms",
          .bias = is_yes(parameters, "bias"),
          .tied = is_yes(parameters, "tied"),
          .post_norm = parameters.word("norm_place") == "post",
          .transforms = parameters.word("head") == "transform",
          .unit = chosen<Unit>(parameters, "activation", kUnits),
          .positions = chosen<Positions>(parameters, "positions", kPositions),
          .experts = experts,
          .choices = top_k == 0 ? 2 : top_k,
          .balance = parameters.fraction("balance")};
}

}  // namespace generator

std::vector<NetworkInfo> transformer_networks() {
  static const std::vector<generator::Generator> kGenerators = [] {
    std::vector<generator::Generator> all;
    for (const generator::Row& row : generator::kRows) all.push_back(family(row.own));
    return all;
  }();
  std::vector<NetworkInfo> all;
  for (std::size_t i = 0; i < kGenerators.size(); ++i) {
    const generator::Row& row = generator::kRows[i];
    all.push_back({.name = row.name,
                   .family = "transformer",
                   .description = row.description,
                   .input = {std::stoll(row.own.length)},
                   .classes = std::stoi(row.own.vocabulary),
                   .preprocess = "",
                   .masked = std::string_view(row.own.causal) == "no",
                   .generator = &kGenerators[i]});
  }
  return all;
}

}  // namespace trainyard::networks
