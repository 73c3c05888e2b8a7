#include "networks/layers/activations.h"
#include "networks/layers/layer_builder.h"
#include "ops/shape.h"

namespace trainyard::networks::layers {
namespace {

using graph::ValueId;
using Kind = OptionRow::Kind;

constexpr double kWidest = 1 << 24;

ValueId dense(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  x = b.as_rows(x);
  const std::int64_t units = b.whole(layer, "units");
  b.want_weights({units, b.shape(x).elements_from(1)});
  const Activating activating(b.word(layer, "activation"));
  return activating.behind(
      b.builder(), name,
      b.builder().dense(name, x,
                        {.outputs = units, .activation = activating.fused(), .bias = b.flag(layer, "bias")}));
}

ValueId logits(LayerBuilder& b, const Layer& layer, const std::string&, ValueId x) {
  x = b.asked_rows(x);
  const std::int64_t classes = b.classes();
  b.want_weights({classes, b.shape(x).elements_from(1)});
  DenseSpec spec{.bias = b.flag(layer, "bias")};
  if (b.is_given(layer, "tied")) {
    const std::string tied = b.full_name_of(b.text(layer, "tied"));
    spec.weight = b.graph().find(tied + "/weight");
    Shape wanted = b.shape(x);
    wanted[0] = classes;
    if (spec.weight == graph::kNone || !(b.shape(spec.weight) == wanted))
      complain(b.text(layer, "tied").place,
               fmt::format("layer '{}' has no weight of {}", tied, wanted.to_string()));
  }
  return b.builder().logits(x, static_cast<int>(classes), spec);
}

ValueId activation(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return Activating(b.word(layer, "kind")).apply(b.builder(), name, x);
}

ValueId swiglu(LayerBuilder& b, const Layer&, const std::string& name, ValueId x) {
  return b.builder().smooth_unit(name, b.as_rows(x), {ops::SmoothKind::silu, true});
}

ValueId dropout(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().dropout(name, x, b.real(layer, "rate"));
}

ValueId batch_norm(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().batch_norm(
      name, x, {.decay = 1 - b.real(layer, "momentum"), .epsilon = b.real(layer, "epsilon")});
}

ValueId layer_norm(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().layer_norm(name, b.as_rows(x), {.centred = true, .epsilon = b.real(layer, "epsilon")});
}

ValueId rms_norm(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().layer_norm(name, b.as_rows(x), {.centred = false, .epsilon = b.real(layer, "epsilon")});
}

ValueId flatten(LayerBuilder& b, const Layer&, const std::string& name, ValueId x) {
  return ops::flatten(b.graph(), name, x);
}

}  // namespace

std::vector<LayerRow> plain_layers() {
  const OptionRow epsilon{"epsilon", Kind::real, "added to the variance", "1e-5", 1e-12, 1};
  const OptionRow bias{"bias", Kind::flag, "whether it adds one", "yes"};
  return {
      {"dense",
       "a dense layer; of an image all of it, of a sequence each step",
       kNumbers,
       {{"units", Kind::whole, "numbers that it makes", OptionRow::kRequired, 1, kWidest},
        {"activation", Kind::word, "behind it", "none", 1, 1, Activating::words()},
        bias},
       dense},
      {"logits",
       "the last layer: a dense one with a number for each class, or for each token of the vocabulary",
       kNumbers,
       {{.name = "tied",
         .kind = Kind::layer,
         .about = "the embedding whose weight it shares",
         .fallback = ""},
        bias},
       logits},
      {"activation",
       "a function of each number",
       kNumbers,
       {{"kind", Kind::word, "which one", OptionRow::kRequired, 1, 1, Activating::words()}},
       activation},
      {"swiglu",
       "silu of the first half of the numbers times the second half",
       kFeatures | kSteps,
       {},
       swiglu},
      {"dropout",
       "in training, numbers become zero at random, and the others larger",
       kNumbers,
       {{"rate", Kind::real, "share of the numbers", "0.5", 0, 0.999}},
       dropout},
      {"batch_norm",
       "each channel gets mean 0 and variance 1 over the batch, then a factor and an offset",
       kImage | kFeatures,
       {{"momentum", Kind::real, "weight of a batch in the running statistics", "0.1", 0, 1}, epsilon},
       batch_norm},
      {"layer_norm",
       "the numbers of each sample or step get mean 0 and variance 1, then factors and offsets",
       kFeatures | kSteps,
       {epsilon},
       layer_norm},
      {"rms_norm",
       "the numbers of each sample or step are divided by the root of their mean square, then factors",
       kFeatures | kSteps,
       {epsilon},
       rms_norm},
      {"flatten",
       "an image becomes a row of numbers, as `dense` takes it without this, too",
       kImage,
       {},
       flatten},
  };
}

}  // namespace trainyard::networks::layers
