#include "networks/generator/generator.h"

#include "networks/generator/counts.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::ValueId;

constexpr std::int64_t kWidest = std::int64_t{1} << 24;

ValueId build_fc(Builder& b, ValueId images, int classes, const Parameters& parameters) {
  const FcSizes sizes = fc_sizes(parameters, classes);
  ValueId x = images;
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer)
    x = b.dense(fmt::format("fc{}", layer), x, {.outputs = sizes.width});
  return b.logits(x, classes);
}

Counts count_fc(const Parameters& parameters, int classes, const CountOptions& options) {
  const FcSizes sizes = fc_sizes(parameters, classes);
  LayerCounts layers(options);
  layers.input(sizes.inputs);
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer) {
    layers.dense(layer == 1 ? sizes.inputs : sizes.width, sizes.width, layer == 1);
    layers.relu(sizes.width);
  }
  layers.logits(sizes.width, sizes.classes);
  layers.softmax_cross_entropy(sizes.classes);
  return layers.finish();
}

Shape input_of_fc(const Parameters& parameters) { return {parameters.number("inputs")}; }

const Generator kFc{.parameters = {{"layers", "hidden dense layers, each with ReLU", "4", 1, 4096},
                                   {"width", "outputs of each hidden layer", "1024", 1, kWidest},
                                   {.name = "inputs",
                                    .about = "inputs of the first layer; train: as the data set has",
                                    .fallback = "1000",
                                    .largest = kWidest,
                                    .is_of_data = true}},
                    .input = input_of_fc,
                    .build = build_fc,
                    .count = count_fc};

}  // namespace

FcSizes fc_sizes(const Parameters& parameters, int classes) {
  return {parameters.number("layers"), parameters.number("width"), parameters.number("inputs"), classes};
}

PublishedCounts published_fc(const FcSizes& sizes, std::int64_t batch, bool training) {
  const std::int64_t parameters =
      (sizes.layers - 1) * sizes.width * sizes.width + sizes.width * (sizes.inputs + sizes.classes);
  return {parameters, (training ? 6 : 2) * static_cast<double>(batch) * static_cast<double>(parameters)};
}

}  // namespace generator

std::vector<NetworkInfo> fc_networks() {
  return {{.name = "fc",
           .family = "fc",
           .description = "generated: dense layers with ReLU, by default four of 1024",
           .input = {1000},
           .classes = 100,
           .preprocess = "unit",
           .generator = &generator::kFc}};
}

}  // namespace trainyard::networks
