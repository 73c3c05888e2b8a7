#pragma once

#include <vector>

#include "networks/builder.h"
#include "networks/generator/counts.h"
#include "networks/generator/parameter.h"
#include "tensor/shape.h"

namespace trainyard::networks::generator {

// What a network on sequences reads: as many tokens, each a number below the vocabulary.
struct SequenceSizes {
  std::int64_t length, vocabulary;
};

// A family of networks: what may be chosen, and what becomes of the choice.
struct Generator {
  std::vector<Parameter> parameters;
  // Refuses what no single range can say; null: nothing. Error (usage).
  void (*check)(const Parameters& parameters) = nullptr;
  // The input of one sample: (channel, row, column), or one dimension.
  Shape (*input)(const Parameters& parameters);
  // images (N, input) -> logits (N, classes); or ids (i32 length, N) -> logits (length * N, vocabulary),
  // where classes is the vocabulary
  graph::ValueId (*build)(Builder& builder, graph::ValueId input, int classes, const Parameters& parameters);
  // What a step of it costs, by formulas; the graph is not built. Null: no formulas, sizes cannot run away.
  Counts (*count)(const Parameters& parameters, int classes, const CountOptions& options);
  // Of a family that says the next token at each step; null: its input is images.
  SequenceSizes (*sequence)(const Parameters& parameters) = nullptr;
};

}  // namespace trainyard::networks::generator
