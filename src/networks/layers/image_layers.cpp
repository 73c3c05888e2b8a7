#include "networks/layers/activations.h"
#include "networks/layers/layer_builder.h"
#include "ops/resize.h"

namespace trainyard::networks::layers {
namespace {

using graph::ValueId;
using Kind = OptionRow::Kind;

constexpr double kMostChannels = 1 << 18, kLargestWindow = 1024;

std::optional<NormSpec> norm_of(const LayerBuilder& b, const Layer& layer) {
  return b.flag(layer, "batch_norm") ? std::optional<NormSpec>(NormSpec{}) : std::nullopt;
}

ValueId convolution(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x, ConvSpec spec) {
  const std::int64_t channels = b.shape(x)[1];
  if (channels % spec.groups != 0)
    fail(ErrorKind::config, "groups {} does not divide the {} channels of {}", spec.groups, channels,
         b.describe(x));
  const Activating activating(b.word(layer, "activation"));
  spec.kernel = b.kernel(layer, "kernel");
  spec.stride = b.whole(layer, "stride");
  spec.dilation = b.whole(layer, "dilation");
  spec.norm = norm_of(b, layer);
  spec.bias = b.flag(layer, "bias");
  spec.activation = activating.fused();
  b.set_padding(layer, spec);
  b.want_weights({spec.filters, channels / spec.groups, spec.kernel.h, spec.kernel.w});
  return activating.behind(b.builder(), name, b.builder().conv(name, x, spec));
}

ValueId conv(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return convolution(b, layer, name, x,
                     {.filters = b.whole(layer, "filters"), .groups = b.whole(layer, "groups")});
}

ValueId depthwise_conv(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::int64_t channels = b.shape(x)[1];
  return convolution(b, layer, name, x,
                     {.filters = channels * b.whole(layer, "multiplier"), .groups = channels});
}

ValueId transposed_conv(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const Shape& image = b.shape(x);
  const Activating activating(b.word(layer, "activation"));
  const TransposedConvSpec spec{.filters = b.whole(layer, "filters"),
                                .kernel = b.kernel(layer, "kernel"),
                                .stride = b.whole(layer, "stride"),
                                .norm = norm_of(b, layer)};
  b.want_weights({image[1], spec.filters, spec.kernel.h, spec.kernel.w});
  b.want_numbers({spec.filters, image[2], spec.stride, image[3], spec.stride});
  x = b.builder().transposed_conv(name, x, spec);
  return activating.fused() == ops::Activation::none
             ? activating.behind(b.builder(), name, x)
             : activating.apply(b.builder(), name + "/" + ops::name(activating.fused()), x);
}

PoolSpec pool_of(const LayerBuilder& b, const Layer& layer) {
  PoolSpec spec{.kernel = b.kernel(layer, "size")};
  spec.stride =
      b.is_given(layer, "stride") ? b.whole(layer, "stride") : std::max(spec.kernel.h, spec.kernel.w);
  b.set_padding(layer, spec);
  return spec;
}

ValueId max_pool(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().max_pool(name, x, pool_of(b, layer));
}

ValueId average_pool(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().average_pool(name, x, pool_of(b, layer));
}

ValueId global_pool(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const Shape& image = b.shape(x);
  if (b.word(layer, "kind") == "average") return b.builder().global_average_pool(name, x);
  return b.builder().max_pool(name, x, {.kernel = {image[2], image[3]}, .stride = 1});
}

ValueId upsample(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const Shape image = b.shape(x);
  const std::int64_t factor = b.whole(layer, "factor");
  b.want_numbers({image[1], image[2], factor, image[3], factor});
  if (b.word(layer, "kind") == "nearest") return b.builder().upsample(name, x, factor);
  return ops::resize(
      b.graph(), name, x,
      {ops::ResizePlaces::half_pixel, {image[0], image[1], image[2] * factor, image[3] * factor}});
}

ValueId pad_channels(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  const std::int64_t channels = b.whole(layer, "channels");
  if (channels < b.shape(x)[1])
    fail(ErrorKind::config, "channels {}: fewer than those of {}", channels, b.describe(x));
  return b.builder().pad_channels(name, x, channels);
}

ValueId local_response_norm(LayerBuilder& b, const Layer& layer, const std::string& name, ValueId x) {
  return b.builder().lrn(name, x,
                         {.window = b.whole(layer, "window"),
                          .k = b.real(layer, "k"),
                          .alpha = b.real(layer, "alpha"),
                          .beta = b.real(layer, "beta")});
}

OptionRow filters() {
  return {"filters", Kind::whole, "channels that it makes", OptionRow::kRequired, 1, kMostChannels};
}
OptionRow window(const char* name, const char* about, const char* fallback) {
  return {name, Kind::kernel, about, fallback, 1, kLargestWindow};
}
OptionRow stride(const char* fallback) {
  return {"stride", Kind::whole, "pixels from one window to the next", fallback, 1, kLargestWindow};
}
OptionRow padding(const char* fallback) {
  return {"padding",
          Kind::padding,
          "same (size / stride comes out), valid (none), centred ((kernel - 1) / 2), or so many pixels",
          fallback,
          0,
          kLargestWindow};
}
OptionRow activation() { return {"activation", Kind::word, "behind it", "none", 1, 1, Activating::words()}; }
OptionRow batch_norm() {
  return {"batch_norm", Kind::flag,
          "whether a batch norm follows, before the activation; then it has no bias", "no"};
}

std::vector<OptionRow> with_options_of_convolutions(std::vector<OptionRow> first) {
  const OptionRow others[] = {
      stride("1"),
      padding("same"),
      {"dilation", Kind::whole, "pixels from one weight to the next", "1", 1, kLargestWindow},
      {"bias", Kind::flag, "whether it adds one", "yes"},
      batch_norm(),
      activation()};
  first.insert(first.end(), std::begin(others), std::end(others));
  return first;
}

std::vector<OptionRow> options_of_pools() {
  return {window("size", "of the window: one number, or rows and columns", "2"),
          {.name = "stride",
           .kind = Kind::whole,
           .about = "pixels from one window to the next; as large as the window where it is left out",
           .fallback = "",
           .most = kLargestWindow},
          padding("valid")};
}

}  // namespace

std::vector<LayerRow> image_layers() {
  const char* const kSize = "of the window: one number, or rows and columns";
  return {
      {"conv", "a convolution", kImage,
       with_options_of_convolutions(
           {filters(),
            window("kernel", kSize, "3"),
            {"groups", Kind::whole, "groups of channels that know nothing of each other", "1", 1,
             kMostChannels}}),
       conv},
      {"depthwise_conv", "a convolution of each channel by itself", kImage,
       with_options_of_convolutions(
           {window("kernel", kSize, "3"),
            {"multiplier", Kind::whole, "channels that it makes of each", "1", 1, kLargestWindow}}),
       depthwise_conv},
      {"transposed_conv",
       "the image becomes `stride` times as high and wide; no bias",
       kImage,
       {filters(), window("kernel", kSize, "2"), stride("2"), batch_norm(), activation()},
       transposed_conv},
      {"max_pool", "the largest number of each window", kImage, options_of_pools(), max_pool},
      {"average_pool", "the mean of each window", kImage, options_of_pools(), average_pool},
      {"global_pool",
       "one number for each channel",
       kImage,
       {{"kind", Kind::word, "which one", "average", 1, 1, {"average", "max"}}},
       global_pool},
      {"upsample",
       "more pixels",
       kImage,
       {{"factor", Kind::whole, "times as many rows and columns", "2", 1, kLargestWindow},
        {"kind", Kind::word, "whose pixels they are", "nearest", 1, 1, {"nearest", "linear"}}},
       upsample},
      {"pad_channels",
       "adds channels of zeros, half of them before the others",
       kImage,
       {{"channels", Kind::whole, "channels that there are then", OptionRow::kRequired, 1, kMostChannels}},
       pad_channels},
      {"local_response_norm",
       "numbers are divided by (k + alpha * sum of squares over neighbouring channels) ^ beta",
       kImage,
       {{"window", Kind::whole, "neighbouring channels, an odd number", "9", 1, kLargestWindow},
        {"k", Kind::real, "see above", "1", 0, 1e6},
        {"alpha", Kind::real, "see above", "0.0001", 0, 1e6},
        {"beta", Kind::real, "see above", "0.75", 0, 100}},
       local_response_norm},
  };
}

}  // namespace trainyard::networks::layers
