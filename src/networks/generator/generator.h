#pragma once

#include <vector>

#include "networks/builder.h"
#include "networks/generator/parameter.h"
#include "tensor/shape.h"

namespace trainyard::networks::generator {

// A family of networks: what may be chosen, and what becomes of the choice.
struct Generator {
  std::vector<Parameter> parameters;
  // Refuses what no single range can say; null: nothing. Error (usage).
  void (*check)(const Parameters& parameters) = nullptr;
  // The input of one sample: (channel, row, column), or one dimension.
  Shape (*input)(const Parameters& parameters);
  // images (N, input) -> logits (N, classes)
  graph::ValueId (*build)(Builder& builder, graph::ValueId images, int classes, const Parameters& parameters);
};

}  // namespace trainyard::networks::generator
