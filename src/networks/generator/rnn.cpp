#include "networks/generator/generator.h"

#include "networks/generator/counts.h"
#include "networks/generator/network_info.h"
#include "ops/shape.h"

namespace trainyard::networks {
namespace generator {
namespace {

using graph::ValueId;

ValueId build_rnn(Builder& b, ValueId ids, int, const Parameters& parameters) {
  const RnnSizes sizes = rnn_sizes(parameters);
  ValueId x = b.embedding("embedding", ids, {.vocabulary = sizes.vocabulary, .width = sizes.hidden});
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer)
    x = b.recurrent(fmt::format("cell{}", layer), x, {.cell = sizes.cell, .hidden = sizes.hidden});
  const Shape& steps = b.graph().shape(x);
  const ValueId rows = ops::reshape(b.graph(), "steps", x, {steps[0] * steps[1], steps[2]});
  return b.logits(rows, static_cast<int>(sizes.vocabulary));
}

Counts count_rnn(const Parameters& parameters, int, const CountOptions& options) {
  const RnnSizes sizes = rnn_sizes(parameters);
  const LayerCounts::Cell cell{ops::gates_of(sizes.cell), sizes.cell != ops::RecurrentCell::rnn};
  LayerCounts layers(options);
  layers.tokens(sizes.length, sizes.length + 1);
  layers.embedding(sizes.vocabulary, sizes.hidden, sizes.length);
  for (std::int64_t layer = 1; layer <= sizes.layers; ++layer)
    layers.recurrent(cell, sizes.hidden, sizes.hidden, sizes.length);
  layers.reshape(sizes.length * sizes.hidden);
  layers.logits(sizes.hidden, sizes.vocabulary, sizes.length);
  layers.sequence_cross_entropy(sizes.vocabulary, sizes.length);
  return layers.finish();
}

Shape input_of_rnn(const Parameters& parameters) { return {parameters.number("length")}; }

SequenceSizes sequence(const Parameters& parameters) {
  return {parameters.number("length"), parameters.number("vocabulary")};
}

const Generator kRnn{
    .parameters = {{.name = "cell",
                    .about = "rnn (tanh), lstm or gru",
                    .fallback = "lstm",
                    .choices = {"rnn", "lstm", "gru"}},
                   {"layers", "cells, one above the other", "5", 1, 4096},
                   {"hidden", "units of each cell, and the width of the embedding", "100", 1, 65536},
                   {"length", "steps of a sequence", "50", 1, 65536},
                   {"vocabulary", "different tokens", "1024", 2, std::int64_t{1} << 24}},
    .input = input_of_rnn,
    .build = build_rnn,
    .count = count_rnn,
    .sequence = sequence};

}  // namespace

RnnSizes rnn_sizes(const Parameters& parameters) {
  return {.cell = *ops::find_cell(parameters.word("cell")),
          .layers = parameters.number("layers"),
          .hidden = parameters.number("hidden"),
          .length = parameters.number("length"),
          .vocabulary = parameters.number("vocabulary")};
}

}  // namespace generator

std::vector<NetworkInfo> rnn_networks() {
  return {{.name = "rnn",
           .family = "rnn",
           .description = "generated: a recurrent language model, by default five lstm cells of 100",
           .input = {50},
           .classes = 1024,
           .preprocess = "",
           .generator = &generator::kRnn}};
}

}  // namespace trainyard::networks
